// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/base_options.h"

#include <filesystem>
#include <optional>

#include "engine/cli/setting_options.h"

namespace athanor {

void BaseOptions::add_to(CLI::App& command, const Help& help) {
  command.add_option("--base", base_, help.base)->type_name("RUN")->required();
  checkpoint_given_ = command
                          .add_option("--checkpoint", checkpoint_,
                                      "The step of its checkpoint; without it the newest")
                          ->type_name("STEP");
  command.add_option("--data", data_, help.data)->type_name("FILE");
  command.add_option("--name", name_, help.name)->type_name("TEXT");
}

std::int64_t BaseOptions::run() const {
  return whole_number("--base", base_, Bounds{1, 9e15});
}

BaseModel BaseOptions::open(const GlobalOptions& global) const {
  const std::int64_t base = run();
  std::optional<std::int64_t> step;
  if (checkpoint_given_->count() > 0)
    step = whole_number("--checkpoint", checkpoint_, Bounds{0, 1e9});
  return open_base_model(global.home_folder(), base, step);
}

std::string BaseOptions::data_file() const {
  if (data_.empty()) return {};
  return std::filesystem::absolute(data_).lexically_normal().string();
}

}  // namespace athanor
