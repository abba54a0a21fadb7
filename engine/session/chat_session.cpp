// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/chat_session.h"

#include <fmt/format.h>

#include "engine/base/json.h"
#include "engine/io/checkpoint.h"
#include "engine/session/run_spec.h"

namespace athanor {

namespace {

CheckpointFolder::Loaded load_checkpoint(const CheckpointFolder& folder,
                                         std::optional<std::int64_t> step, std::string& notice) {
  if (!step) {
    std::vector<std::string> problems;
    CheckpointFolder::Loaded loaded = folder.load_newest(false, problems);
    for (const std::string& problem : problems)
      notice += (notice.empty() ? "" : " ") + problem;
    return loaded;
  }
  for (const CheckpointFolder::Entry& entry : folder.list()) {
    if (entry.step == *step) return CheckpointFolder::load(entry.path, false);
  }
  throw Error(ErrorKind::not_found,
              fmt::format("This run has no checkpoint of step {}. Choose another.", *step));
}

}  // namespace

ChatSession::ChatSession(const std::filesystem::path& run_folder, std::optional<std::int64_t> step,
                         const BackendOptions& options, WeightFormat weights) {
  const std::filesystem::path spec_path = run_folder / "spec.json";
  model_ = run_spec_from_json(read_json_file(spec_path), spec_path.string()).model;
  const CheckpointFolder folder(run_folder / "checkpoints");
  if (folder.list().empty()) {
    throw Error(ErrorKind::not_found,
                "This run has no checkpoint yet. Let it train a little longer, or choose another.");
  }
  const CheckpointFolder::Loaded loaded = load_checkpoint(folder, step, notice_);
  step_ = loaded.step;
  tokenizer_ = std::make_unique<Tokenizer>(Tokenizer::load(run_folder / "tokenizer.json"));
  backend_ = make_backend(options);
  generator_ = std::make_unique<Generator>(model_, loaded.weights, *tokenizer_, *backend_, weights);
}

std::string ChatSession::weights_note() const {
  const int count = generator_->unquantised();
  if (count == 0) return {};
  return fmt::format(
      "{} of the model's matrices stay as saved: only rows of a multiple of {} "
      "numbers can be kept in few bits.",
      count, kBlock_elements);
}

}  // namespace athanor
