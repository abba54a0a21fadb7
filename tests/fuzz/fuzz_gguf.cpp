// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "engine/exchange/foreign_model.h"
#include "engine/exchange/gguf_settings.h"
#include "engine/exchange/gguf_tokenizer.h"
#include "engine/io/gguf.h"
#include "tests/fuzz/fuzz_reader.h"
#include "tests/fuzz/scratch_folder.h"

namespace {

/// What is refused is refused; the rest goes on.
template <class Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const athanor::Error& error) {
    if (error.kind() == athanor::ErrorKind::internal) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  static const ScratchFolder folder;
  return fuzz_reader(data, size, [](std::string_view text) {
    const std::filesystem::path path = folder.write("model.gguf", text);
    const GgufFile file = GgufFile::open(path);
    for (const std::string& key : file.keys()) {
      attempt([&] { (void)file.integer(key); });
      attempt([&] { (void)file.real(key); });
      attempt([&] { (void)file.text(key); });
      attempt([&] { (void)file.integers(key); });
      attempt([&] { (void)file.reals(key); });
      attempt([&] { (void)file.texts(key); });
    }
    for (const StoredTensor& tensor : file.tensors()) {
      if (!tensor.format) continue;
      std::vector<float> numbers(static_cast<std::size_t>(tensor.shape.elements()));
      widen(*tensor.format, tensor.data, numbers);
    }
    attempt([&] { read_gguf_tokenizer(file); });
    attempt([&] { read_gguf_settings(file, {}); });
    const ForeignModel foreign = open_gguf(path, {});
    for (std::size_t i = 0; i < foreign.weights.parameters().all().size(); ++i) {
      const Shape shape = foreign.weights.parameters().all()[i].shape;
      std::vector<float> numbers(static_cast<std::size_t>(shape.elements()));
      foreign.weights.read(static_cast<int>(i), 0, numbers);
      for (const float number : numbers) {
        if (!std::isfinite(number)) __builtin_trap();
      }
    }
  });
}
