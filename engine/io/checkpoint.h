// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/json_fwd.h"
#include "engine/io/safetensors.h"

namespace athanor {

/// A run's checkpoints: folders step-00000120/ of weights.safetensors, optimizer.safetensors,
/// state.json and checkpoint.json (format, step, checksums of the others). A checkpoint is written
/// beside its place, synced and renamed, so it is whole or absent.
class CheckpointFolder {
 public:
  struct Entry {
    std::int64_t step = 0;
    std::filesystem::path path;
  };

  struct Content {
    std::int64_t step = 0;
    std::span<const NamedTensor> weights;
    std::span<const NamedTensor> optimizer;
    const Json& state;
    ReadTensor read = {};  ///< how tensors are read that lie in memory of a device
  };

  /// A checkpoint whose checksums were found right, open for reading.
  struct Loaded {
    std::int64_t step = 0;
    std::filesystem::path path;
    SafetensorsFile weights;
    std::optional<SafetensorsFile> optimizer;  ///< absent when only weights were asked for
    std::shared_ptr<const Json> state;
  };

  explicit CheckpointFolder(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  /// Ascending by step; half-written ones are not listed.
  std::vector<Entry> list() const;
  /// Saves, replacing a checkpoint of the same step. Refuses (io) before writing when the disk has
  /// too little room. Returns its folder.
  std::filesystem::path save(const Content& content) const;
  /// Opens one checkpoint and checks everything it reads; damaged names the file.
  static Loaded load(const std::filesystem::path& checkpoint, bool with_optimizer);
  /// The newest good one; `problems` takes a sentence about each newer one that was passed over.
  /// Throws not_found when there is none at all and damaged when none is good.
  Loaded load_newest(bool with_optimizer, std::vector<std::string>& problems) const;
  /// Removes all but the newest `newest` and the one of step `best`; returns what was removed.
  std::vector<std::int64_t> prune(int newest, std::optional<std::int64_t> best) const;
  /// Removes leftovers of saves that a crash cut short.
  void remove_partial() const;

 private:
  std::filesystem::path root_;
};

}  // namespace athanor
