// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/checksum.h"
#include "engine/base/json.h"
#include "engine/io/checkpoint.h"
#include "tests/fuzz/fuzz_reader.h"
#include "tests/fuzz/scratch_folder.h"

/// The input is checkpoint.json, state.json and weights.safetensors with lines of three dashes
/// between them. Without the first, one is made that fits the others.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  static const ScratchFolder folder;
  return fuzz_reader(data, size, [](std::string_view text) {
    const auto next = [&text] {
      constexpr std::string_view kLine = "\n---\n";
      const std::size_t at = text.find(kLine);
      const std::string part(text.substr(0, at));
      text = at == std::string_view::npos ? std::string_view() : text.substr(at + kLine.size());
      return part;
    };
    std::string manifest = next();
    const std::string state = next();
    const std::string weights(text);
    const auto sum = [](const std::string& bytes) {
      return checksum_text(checksum(std::as_bytes(std::span(bytes))));
    };
    if (manifest.empty()) {
      manifest =
          Json{{"format", 1},
               {"step", 7},
               {"checksums", {{"weights.safetensors", sum(weights)}, {"state.json", sum(state)}}}}
              .dump();
    }
    folder.write("step-00000007/checkpoint.json", manifest);
    folder.write("step-00000007/state.json", state);
    folder.write("step-00000007/weights.safetensors", weights);
    const CheckpointFolder::Loaded loaded =
        CheckpointFolder::load(folder.path() / "step-00000007", false);
    for (const NamedTensor& entry : loaded.weights.tensors())
      loaded.weights.find(entry.name, entry.tensor.dtype, entry.tensor.shape);
  });
}
