-- A run list as the second version of its schema had it: conversations, no rehearsals.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  problem TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  step INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  seconds REAL,
  loss REAL,
  validation_loss REAL,
  best_validation_loss REAL,
  tokens_per_second REAL,
  parameters INTEGER NOT NULL,
  planned_bytes INTEGER NOT NULL,
  peak_resident_bytes INTEGER NOT NULL,
  device TEXT NOT NULL,
  spec TEXT NOT NULL);
CREATE TABLE metrics (
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  seconds REAL,
  loss REAL,
  learning_rate REAL,
  gradient_norm REAL,
  tokens_per_second REAL,
  PRIMARY KEY (run_id, step)) WITHOUT ROWID;
CREATE TABLE evaluations (
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  seconds REAL,
  loss REAL,
  bits_per_byte REAL,
  PRIMARY KEY (run_id, step)) WITHOUT ROWID;
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  time_ms INTEGER NOT NULL,
  step INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL);
CREATE INDEX events_of_run ON events(run_id);
CREATE TABLE checkpoints (
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  path TEXT NOT NULL,
  time_ms INTEGER NOT NULL,
  validation_loss REAL,
  best INTEGER NOT NULL,
  PRIMARY KEY (run_id, step)) WITHOUT ROWID;
INSERT INTO runs VALUES (5, 'An old run', 'finished', '', 1700000000000, 1700000001000, 2, 2, 256,
  1.5, NULL, 2.25, 2.25, 170.5, 1000, 4096, 8192, 'A processor', '{"format": 1}');
INSERT INTO metrics VALUES (5, 1, 128, 0.75, 5.5, 0.001, 1.5, 170.0);
INSERT INTO metrics VALUES (5, 2, 256, 1.5, NULL, 0.0005, 1.25, 170.5);
INSERT INTO evaluations VALUES (5, 2, 256, 1.5, 2.25, 1.0);
INSERT INTO events (run_id, time_ms, step, kind, text)
  VALUES (5, 1700000001000, 2, 'finished', 'All steps done');
INSERT INTO checkpoints VALUES (5, 2, '/somewhere/step-00000002', 1700000001000, 2.25, 1);
CREATE TABLE conversations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  checkpoint_step INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  title TEXT NOT NULL);
CREATE INDEX conversations_of_run ON conversations(run_id);
CREATE TABLE turns (
  id INTEGER PRIMARY KEY,
  conversation_id INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  text TEXT NOT NULL,
  note TEXT NOT NULL);
CREATE INDEX turns_of_conversation ON turns(conversation_id);
PRAGMA user_version = 2;
