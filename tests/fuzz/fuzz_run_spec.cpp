// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/json.h"
#include "engine/session/run_spec.h"
#include "tests/fuzz/fuzz_reader.h"

/// What was read and is sound must be the same when it was written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  return fuzz_reader(data, size, [](std::string_view text) {
    const RunSpec spec = run_spec_from_json(parse_json(text, "fuzzed file"), "fuzzed file");
    check_run_spec(spec);
    const Json written = run_spec_to_json(spec);
    if (run_spec_to_json(run_spec_from_json(written, "again")) != written) __builtin_trap();
  });
}
