// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/base/json_fwd.h"
#include "engine/exchange/foreign_model.h"

namespace athanor {

/// config.json of Hugging Face's transformers (4.x and 5.x) as this program's settings. Fields that
/// would change what the model computes are honoured or refused (unsupported, naming the field);
/// fields that are not known are told as a notice. `place` names the file.
ForeignSettings read_hugging_face_config(const KeyedJson& config, const ForeignOptions& options,
                                         const std::string& place);

/// The way back. `type` is what the weights are stored as.
Json hugging_face_config(const ModelConfig& model, Architecture architecture, DType type,
                         std::int32_t end_of_text, std::int32_t begin_of_text);

}  // namespace athanor
