// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/json.h"
#include "engine/exchange/hugging_face_config.h"
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  return fuzz_reader(data, size, [](std::string_view text) {
    const ForeignSettings settings =
        read_hugging_face_config(parse_keyed_json(text, "fuzzed file"), {}, "fuzzed file");
    check_model_config(settings.model);
    // What is written is read as the same.
    if (settings.model.kv_heads > 0 && settings.architecture != Architecture::mistral) {
      const Json written =
          hugging_face_config(settings.model, settings.architecture, DType::f32, 1, -1);
      const ForeignSettings again = read_hugging_face_config(
          parse_keyed_json(written.dump(), "written file"), {}, "written file");
      if (settings_to_json(again.model) != settings_to_json(settings.model)) __builtin_trap();
    }
  });
}
