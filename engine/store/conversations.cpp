// SPDX-License-Identifier: GPL-3.0-or-later
#include <SQLiteCpp/Statement.h>

#include "engine/store/run_store.h"
#include "engine/store/store_errors.h"

namespace athanor {

std::int64_t RunStore::create_conversation(const ConversationRow& row) {
  return guarded(*database_, [&] {
    SQLite::Statement statement(*database_, R"(
      INSERT INTO conversations (run_id, checkpoint_step, created_ms, title)
      VALUES (:run_id, :checkpoint_step, :created_ms, :title))");
    statement.bind(":run_id", row.run_id);
    statement.bind(":checkpoint_step", row.checkpoint_step);
    statement.bind(":created_ms", row.created_ms);
    statement.bind(":title", row.title);
    statement.exec();
    return std::int64_t{database_->getLastInsertRowid()};
  });
}

void RunStore::append(std::int64_t conversation_id, const TurnRow& row) {
  guarded(*database_, [&] {
    SQLite::Statement statement(*database_, R"(
      INSERT INTO turns (conversation_id, role, text, note, tokens)
      VALUES (:conversation_id, :role, :text, :note, :tokens))");
    statement.bind(":conversation_id", conversation_id);
    statement.bind(":role", row.role);
    statement.bind(":text", row.text);
    statement.bind(":note", row.note);
    statement.bind(":tokens", row.tokens);
    statement.exec();
  });
}

std::vector<ConversationRow> RunStore::conversations() const {
  return guarded(*database_, [&] {
    SQLite::Statement query(*database_, R"(
      SELECT id, run_id, checkpoint_step, created_ms, title FROM conversations ORDER BY id DESC)");
    std::vector<ConversationRow> rows;
    while (query.executeStep()) {
      rows.push_back({.id = query.getColumn(0),
                      .run_id = query.getColumn(1),
                      .checkpoint_step = query.getColumn(2),
                      .created_ms = query.getColumn(3),
                      .title = query.getColumn(4)});
    }
    return rows;
  });
}

std::vector<TurnRow> RunStore::turns(std::int64_t conversation_id) const {
  return guarded(*database_, [&] {
    SQLite::Statement query(*database_, R"(
      SELECT role, text, note, tokens FROM turns WHERE conversation_id = :conversation_id ORDER BY id)");
    query.bind(":conversation_id", conversation_id);
    std::vector<TurnRow> rows;
    while (query.executeStep()) {
      rows.push_back({.role = query.getColumn(0),
                      .text = query.getColumn(1),
                      .note = query.getColumn(2),
                      .tokens = query.getColumn(3)});
    }
    return rows;
  });
}

void RunStore::keep_prompt(const std::string& text) {
  guarded(*database_, [&] {
    SQLite::Statement statement(*database_, "INSERT OR IGNORE INTO prompts (text) VALUES (?)");
    statement.bind(1, text);
    statement.exec();
  });
}

void RunStore::forget_prompt(const std::string& text) {
  guarded(*database_, [&] {
    SQLite::Statement statement(*database_, "DELETE FROM prompts WHERE text = ?");
    statement.bind(1, text);
    statement.exec();
  });
}

std::vector<std::string> RunStore::prompts() const {
  return guarded(*database_, [&] {
    SQLite::Statement query(*database_, "SELECT text FROM prompts ORDER BY id DESC");
    std::vector<std::string> texts;
    while (query.executeStep())
      texts.push_back(query.getColumn(0));
    return texts;
  });
}

}  // namespace athanor
