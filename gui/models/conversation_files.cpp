// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/conversation_files.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace athanor {
namespace {

QString quoted(const QString& text) {
  return "> " + QString(text).replace("\n", "\n> ");
}

const Answer* shownAnswer(const Exchange& exchange) {
  return exchange.answers.isEmpty() ? nullptr : &exchange.answers[exchange.shown];
}

void addExchange(QJsonArray& messages, const QString& prompt, const QString& answer) {
  messages.append(QJsonObject{{"role", "user"}, {"content", prompt}});
  messages.append(QJsonObject{{"role", "assistant"}, {"content", answer}});
}

QString lineOf(const QJsonArray& messages) {
  return QString::fromUtf8(
      QJsonDocument(QJsonObject{{"messages", messages}}).toJson(QJsonDocument::Compact));
}

}  // namespace

QString markdownOf(const Conversation& conversation, const QString& model) {
  QString text = "# " + model + "\n";
  for (const Exchange& exchange : conversation.exchanges()) {
    text += "\n" + quoted(exchange.prompt) + "\n";
    const Answer* answer = shownAnswer(exchange);
    if (answer != nullptr) text += "\n" + answer->text + "\n\n" + answer->note + "\n";
  }
  return text;
}

QString messagesOf(const Conversation& conversation) {
  QJsonArray messages;
  for (const Exchange& exchange : conversation.exchanges()) {
    const Answer* answer = shownAnswer(exchange);
    if (answer != nullptr) addExchange(messages, exchange.prompt, answer->text);
  }
  return lineOf(messages);
}

QString messagesOf(const QString& prompt, const QString& answer) {
  QJsonArray messages;
  addExchange(messages, prompt, answer);
  return lineOf(messages);
}

void saveText(const std::filesystem::path& path, const QString& text) {
  write_file_atomically(path, text.toStdString());
}

void appendExample(const std::filesystem::path& path, const QString& line) {
  create_folders(path.parent_path());
  QFile file(path);
  const auto failed = [&] {
    throw Error(ErrorKind::io, "The example could not be added to " + path.string() + ": " +
                                   file.errorString().toStdString() +
                                   ". Choose another file, or free some space.");
  };
  if (!file.open(QIODevice::ReadWrite)) failed();
  QByteArray added = line.toUtf8() + '\n';
  const qint64 before = file.size();
  // A last line that was left open by another program ends first.
  if (before > 0 && file.seek(before - 1) && file.read(1) != "\n") added.prepend('\n');
  if (!file.seek(before)) failed();
  if (file.write(added) != added.size() || !file.flush()) {
    file.resize(before);
    failed();
  }
}

}  // namespace athanor
