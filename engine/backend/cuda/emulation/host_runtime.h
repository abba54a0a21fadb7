// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "engine/backend/cuda/card_traits.h"
#include "engine/backend/cuda/emulation/work.h"
#include "engine/backend/cuda/faults.h"
#include "engine/backend/cuda/runtime.h"

namespace athanor::cuda {

/// What goes wrong with a card that tests make up.
struct PlannedFault {
  Fault fault = Fault::lost;
  /// How many calls of the runtime go well before; after it, all fail.
  std::int64_t calls_before = 0;
};

/// The machine's memory as a card's, of `memory_bytes`. Kernels of the emulation run on it at once;
/// those that are recorded run with the arguments of then when they are replayed.
class HostRuntime : public Runtime {
 public:
  explicit HostRuntime(std::int64_t memory_bytes = std::int64_t{1} << 40,
                       double compute_capability = kFirst_fp8);

  /// From now on.
  void plan_fault(const PlannedFault& fault);
  /// Calls that can fail so far.
  std::int64_t calls() const { return calls_; }
  std::int64_t allocated_bytes() const { return allocated_bytes_; }
  /// From now on record() fails, as a driver may.
  void refuse_to_record() { records_ = false; }
  std::int64_t replays() const { return replays_; }

  const DeviceInfo& device() const override { return info_; }
  double compute_capability() const override { return compute_capability_; }
  Stream stream() const override { return stream_.get(); }
  Buffer allocate(std::int64_t bytes) override;
  Buffer allocate_host(const std::filesystem::path& folder, std::int64_t bytes) override;
  void zero(std::byte* to, std::int64_t bytes) override;
  void upload(std::byte* to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const std::byte* from) override;
  void bring(std::byte* to, const std::byte* host, std::int64_t bytes) override;
  void take(std::byte* host, const std::byte* from, std::int64_t bytes) override;
  void await_copies(const std::byte* first, std::int64_t bytes) override;
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;
  void wait() override;

 private:
  class RecordedWork;

  void call(const char* action);
  /// What a card refuses while its work is recorded.
  void call_outside_of_recordings(const char* action);

  DeviceInfo info_;
  std::int64_t memory_bytes_;
  double compute_capability_;
  std::int64_t allocated_bytes_ = 0;
  std::int64_t calls_ = 0;
  std::int64_t replays_ = 0;
  bool records_ = true;
  std::unique_ptr<CUstream_st> stream_ = std::make_unique<CUstream_st>();
  bool fails_ = false;
  PlannedFault fault_;
};

}  // namespace athanor::cuda
