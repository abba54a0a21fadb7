// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/stream.h"

namespace athanor::cuda {

/// A card's memory and the order of its work; in tests, what stands in for a card. All calls throw
/// fault_error() and none waits for the card unless it says so.
class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual const DeviceInfo& device() const = 0;
  virtual double compute_capability() const = 0;
  /// Where kernels run.
  virtual Stream stream() const = 0;

  /// Zeroed memory of the card, all of it there: nothing is left to the driver to move elsewhere.
  virtual Buffer allocate(std::int64_t bytes) = 0;
  /// Memory of the machine for bring() and take(): pinned where the system gives so much, else a
  /// file in `folder`.
  virtual Buffer allocate_host(const std::filesystem::path& folder, std::int64_t bytes) = 0;

  virtual void zero(std::byte* to, std::int64_t bytes) = 0;
  /// `from` may be reused when this returns.
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;
  /// Waits for the stream.
  virtual void download(std::span<std::byte> to, const std::byte* from) = 0;

  /// Copies between the machine and the card beside the stream's work, after all that the stream
  /// was given before.
  virtual void bring(std::byte* to, const std::byte* host, std::int64_t bytes) = 0;
  virtual void take(std::byte* host, const std::byte* from, std::int64_t bytes) = 0;
  /// What the stream is given next comes after the copies that touch these bytes of the card.
  virtual void await_copies(const std::byte* first, std::int64_t bytes) = 0;

  /// What the stream is given by `work`, which waits for nothing and copies nothing to or from the
  /// machine: none of it is done. A replay comes after all copies. What it takes of the card's
  /// memory is the driver's and not the plan's: a few kilobytes for each thing that is done.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;

  /// Returns when everything is done.
  virtual void wait() = 0;
};

}  // namespace athanor::cuda
