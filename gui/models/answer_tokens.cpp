// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/answer_tokens.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <algorithm>

namespace athanor {
namespace {

QString textOf(const Tokenizer& tokenizer, std::int32_t id) {
  Utf8Stream stream;
  const std::string text = stream.push(tokenizer.token_bytes(id));
  return QString::fromStdString(text + stream.finish());
}

void limit(TextToken& token, qsizetype length) {
  token.begin = std::clamp(token.begin, 0, static_cast<int>(length));
  token.end = std::clamp(token.end, token.begin, static_cast<int>(length));
}

QJsonArray toJson(const TextToken& token) {
  QJsonArray best;
  for (const TextToken::Other& other : token.best)
    best.append(QJsonArray{other.text, other.probability});
  return {token.begin, token.end, token.id, token.text, token.probability, best};
}

TextToken fromJson(const QJsonArray& json) {
  TextToken token{.begin = json[0].toInt(),
                  .end = json[1].toInt(),
                  .id = json[2].toInt(),
                  .text = json[3].toString(),
                  .probability = json[4].toDouble(),
                  .best = {}};
  for (const QJsonValue& value : json[5].toArray()) {
    const QJsonArray other = value.toArray();
    token.best.push_back({other[0].toString(), other[1].toDouble()});
  }
  return token;
}

}  // namespace

QVector<TextToken> tokensOf(const Generation& answer, const Tokenizer& tokenizer) {
  const qsizetype length = QString::fromStdString(answer.text).size();
  QVector<TextToken> tokens;
  Utf8Stream stream;
  int position = 0;
  for (const TokenChoice& choice : answer.choices) {
    const std::string whole = stream.push(tokenizer.token_bytes(choice.id));
    const int end = position + static_cast<int>(QString::fromStdString(whole).size());
    TextToken token{.begin = position,
                    .end = end,
                    .id = choice.id,
                    .text = textOf(tokenizer, choice.id),
                    .probability = choice.probability,
                    .best = {}};
    for (const TokenChoice::Other& other : choice.best)
      token.best.push_back({textOf(tokenizer, other.id), other.probability});
    limit(token, length);
    tokens.push_back(token);
    position = end;
  }
  return tokens;
}

QVector<TextToken> withoutStart(QVector<TextToken> tokens, qsizetype characters) {
  const int start = static_cast<int>(characters);
  for (TextToken& token : tokens) {
    token.begin = std::max(0, token.begin - start);
    token.end = std::max(0, token.end - start);
  }
  return tokens;
}

std::string tokensToText(const QVector<TextToken>& tokens) {
  if (tokens.isEmpty()) return {};
  QJsonArray all;
  for (const TextToken& token : tokens)
    all.append(toJson(token));
  return QJsonDocument(all).toJson(QJsonDocument::Compact).toStdString();
}

QVector<TextToken> tokensFromText(const std::string& text, qsizetype length) {
  QVector<TextToken> tokens;
  const QJsonArray all = QJsonDocument::fromJson(QByteArray::fromStdString(text)).array();
  for (const QJsonValue& value : all) {
    TextToken token = fromJson(value.toArray());
    limit(token, length);
    tokens.push_back(token);
  }
  return tokens;
}

}  // namespace athanor
