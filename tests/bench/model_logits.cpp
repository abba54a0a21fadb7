// SPDX-License-Identifier: GPL-3.0-or-later
/// Computes another program's model from its own files, for comparing with that program: token
/// numbers on standard input, on standard output the logits after each of them (F32, tokens ×
/// vocabulary). With --greedy N instead the N most probable tokens that follow, as a line of text.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <vector>

#include "engine/base/error.h"
#include "tests/support/foreign_computer.h"

using namespace athanor;

namespace {

void run(const std::string& path, std::int64_t greedy, std::int64_t context) {
  ForeignOptions options;
  if (context > 0) options.context = context;
  const ForeignModel foreign = open_foreign_model(path, options);
  for (const std::string& notice : foreign.settings.notices)
    std::cerr << notice << '\n';
  ForeignComputer computer(foreign);
  std::span<const float> logits;
  for (std::int32_t token = 0; std::cin >> token;) {
    logits = computer.after(token);
    if (greedy > 0) continue;
    std::cout.write(reinterpret_cast<const char*>(logits.data()),
                    static_cast<std::streamsize>(logits.size_bytes()));
  }
  for (std::int64_t i = 0; i < greedy && !logits.empty(); ++i) {
    const auto next = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
    std::cout << next << (i + 1 < greedy ? ' ' : '\n');
    logits = computer.after(next);
  }
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Logits of another program's model");
  std::string path;
  std::int64_t greedy = 0;
  std::int64_t context = 0;
  app.add_option("PATH", path, "A GGUF file or a Hugging Face folder")->required();
  app.add_option("--greedy", greedy, "Tokens to write instead of logits");
  app.add_option("--context", context, "Tokens at once");
  CLI11_PARSE(app, count, arguments);
  try {
    run(path, greedy, context);
  } catch (const Error& error) {
    std::cerr << error.message() << '\n';
    return 1;
  }
  return 0;
}
