// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Conversations as files: to read, and to train on.

#include <QString>
#include <filesystem>

#include "gui/models/conversation.h"

namespace athanor {

/// The shown branch: prompts as quotes, answers as text, `model` in the heading.
QString markdownOf(const Conversation& conversation, const QString& model);
/// One line of JSON in the form of chat messages: {"messages": [{"role": "user", "content": …},
/// {"role": "assistant", "content": …}, …]}; the shown branch, prompts without an answer left out.
QString messagesOf(const Conversation& conversation);
/// The same for one example.
QString messagesOf(const QString& prompt, const QString& answer);

/// Writes a whole file at once; throws Error.
void saveText(const std::filesystem::path& path, const QString& text);
/// Adds a line to a data set, which is made when it is not there; throws Error.
void appendExample(const std::filesystem::path& path, const QString& line);

}  // namespace athanor
