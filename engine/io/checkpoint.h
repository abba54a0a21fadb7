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

/// Which of a run's checkpoints stay.
struct Retention {
  int newest = 3;
  std::optional<std::int64_t> latest;  ///< saved last, though there may be some of later steps
  std::optional<std::int64_t> best;
  std::int64_t interval = 0;  ///< besides those of steps that are multiples of it; 0: none
};

/// A run's checkpoints: folders step-00000120/ of weights.safetensors, optimizer.safetensors,
/// state.json and checkpoint.json (format, step, checksums of the others, the validation loss once
/// it is known). A checkpoint is written beside its place, synced and renamed, so it is whole or
/// absent.
class CheckpointFolder {
 public:
  struct Entry {
    std::int64_t step = 0;
    std::filesystem::path path;
  };

  /// A checkpoint whose content was copied to the system's memory and is not yet on the disk nor
  /// in its place. Goes without a trace unless finish() is called, which any thread may do.
  class Unsynced {
   public:
    Unsynced(Unsynced&& other) noexcept;
    Unsynced& operator=(Unsynced&&) = delete;
    Unsynced(const Unsynced&) = delete;
    Unsynced& operator=(const Unsynced&) = delete;
    ~Unsynced();
    /// Syncs it and puts it in its place, which it returns.
    std::filesystem::path finish();

   private:
    friend class CheckpointFolder;
    Unsynced(std::filesystem::path partial, std::filesystem::path place)
        : partial_(std::move(partial)), place_(std::move(place)) {}
    std::filesystem::path partial_;
    std::filesystem::path place_;
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
    std::optional<double> validation_loss;     ///< where one was noted
    std::shared_ptr<const Json> state;
  };

  explicit CheckpointFolder(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  /// Ascending by step; half-written ones are not listed.
  std::vector<Entry> list() const;
  /// Saves, replacing a checkpoint of the same step. Refuses (io) before writing when the disk has
  /// too little room. Returns its folder.
  std::filesystem::path save(const Content& content) const { return copy(content).finish(); }
  /// The part of save() for which `content` must stay as it is.
  Unsynced copy(const Content& content) const;
  /// Enters the loss of a checkpoint's evaluation, nats per token, in its manifest.
  void note_validation(std::int64_t step, double loss) const;
  /// Throws io when the disk has too little room for a checkpoint whose tensors have so many bytes.
  void check_room(std::int64_t tensor_bytes) const;
  /// Opens one checkpoint and checks everything it reads; damaged names the file.
  static Loaded load(const std::filesystem::path& checkpoint, bool with_optimizer);
  /// The newest good one; `problems` takes a sentence about each newer one that was passed over.
  /// Throws not_found when there is none at all and damaged when none is good.
  Loaded load_newest(bool with_optimizer, std::vector<std::string>& problems) const;
  /// Removes the others; returns their steps.
  std::vector<std::int64_t> prune(const Retention& kept) const;
  void remove(std::int64_t step) const;
  /// Moves the checkpoints of steps after `step` to a new folder beside this one, named
  /// abandoned-<n>, and returns it; empty when there are none.
  std::filesystem::path set_aside_after(std::int64_t step) const;
  /// Removes leftovers of saves that a crash cut short.
  void remove_partial() const;

 private:
  std::filesystem::path root_;
};

}  // namespace athanor
