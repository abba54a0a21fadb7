// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/architecture.h"

#include <string>

#include "engine/base/error.h"

namespace athanor {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::unsupported,
              "This model cannot be exported: no other program's architecture has " + what +
                  ". It can still be used here.");
}

}  // namespace

Architecture fitting_architecture(const ModelConfig& model) {
  if (model.qkv_biases && model.qk_norm) refuse("both model.qkv_biases and model.qk_norm");
  if (model.qkv_biases || model.qk_norm) {
    const std::string option = model.qk_norm ? "model.qk_norm" : "model.qkv_biases";
    if (model.biases) refuse(option + " together with model.biases");
    if (!model.gated()) refuse(option + " together with a model.activation other than swiglu");
    return model.qk_norm ? Architecture::qwen3 : Architecture::qwen2;
  }
  return model.gated() ? Architecture::llama : Architecture::arcee;
}

}  // namespace athanor
