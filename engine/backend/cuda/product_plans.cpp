// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/product_plans.h"

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"

namespace athanor::cuda {
namespace {
constexpr int kFormat = 1;
}  // namespace

ProductPlans::ProductPlans(std::filesystem::path file, std::string device)
    : file_(std::move(file)), device_(std::move(device)) {
  try {
    load();
  } catch (const std::exception& error) {
    plans_.clear();
    problem_ = "The file " + file_.string() +
               ", which keeps how matrix products run fastest on this card, is damaged; they are "
               "measured again.";
  }
}

void ProductPlans::load() {
  if (!std::filesystem::exists(file_)) return;
  const Json json = read_json_file(file_.string());
  if (json.at("format") != kFormat || json.at("device") != device_) return;
  for (const auto& [product, words] : json.at("plans").items()) {
    if (words.size() != Words().size()) throw Error(ErrorKind::damaged, "too few words");
    plans_[product] = words.get<Words>();
  }
}

std::optional<ProductPlans::Words> ProductPlans::find(const std::string& product) const {
  const auto found = plans_.find(product);
  return found == plans_.end() ? std::nullopt : std::optional(found->second);
}

void ProductPlans::keep(const std::string& product, const Words& words) {
  plans_[product] = words;
  changed_ = true;
}

void ProductPlans::save() {
  if (!changed_) return;
  const Json json = {{"format", kFormat}, {"device", device_}, {"plans", plans_}};
  try {
    std::filesystem::create_directories(file_.parent_path());
    write_file_atomically(file_, json.dump(1) + "\n");
    changed_ = false;
  } catch (const std::exception&) {
    // Said in the header: no trouble.
  }
}

}  // namespace athanor::cuda
