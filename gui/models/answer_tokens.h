// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The tokens of an answer as the window shows and keeps them.

#include <QString>
#include <QVector>

#include "engine/data/tokenizer.h"
#include "engine/infer/generator.h"
#include "widgets/token_text.h"

namespace athanor {

/// With places in the answer's text; none without SamplingOptions::alternatives. A stop text may
/// have taken the end of the last one.
QVector<TextToken> tokensOf(const Generation& answer, const Tokenizer& tokenizer);

/// The same tokens when the first `characters` of the text are not shown.
QVector<TextToken> withoutStart(QVector<TextToken> tokens, qsizetype characters);

/// As a conversation keeps them: JSON, empty for none.
std::string tokensToText(const QVector<TextToken>& tokens);
/// None where the text is nothing that tokensToText() writes; places are within `length`.
QVector<TextToken> tokensFromText(const std::string& text, qsizetype length);

}  // namespace athanor
