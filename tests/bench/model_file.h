// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/session/run_spec.h"

namespace athanor {

/// One of the models of a file like tests/gpu/models.json: {"models": [{"id", "spec"}, …]}.
inline RunSpec model_in_file(const std::filesystem::path& file, const std::string& id) {
  const Json all = read_json_file(file);
  for (const Json& model : all.at("models")) {
    if (model.at("id") == id) return run_spec_from_json(model.at("spec"), id);
  }
  throw Error(ErrorKind::not_found, file.string() + " has no model called " + id + ".");
}

}  // namespace athanor
