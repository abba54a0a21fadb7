// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/plan/plan_backend.h"
#include "engine/base/cancel_token.h"
#include "engine/base/json_fwd.h"
#include "engine/train/train_config.h"

namespace athanor {

/// How fast a device executes each operation, measured on it. Products and attention are known by
/// FLOP/s, the others, which memory bounds, by bytes/s; each at a few sizes.
class DeviceSpeed {
 public:
  struct Sample {
    Operation operation = Operation::linear;
    double size = 0;  ///< width of products, head size of attention, else bytes of a call
    double per_second = 0;
  };

  struct Traits {
    double call_seconds = 0;     ///< that each call takes beside its work
    bool copies_beside = false;  ///< copies from and to the host go on while it computes
    /// Of the rate at which bytes of FP32 rows are worked on, where a row is BF16.
    double bf16_share = 1;
  };

  DeviceSpeed(DeviceInfo device, std::vector<Sample> samples)
      : DeviceSpeed(std::move(device), std::move(samples), Traits{}) {}
  DeviceSpeed(DeviceInfo device, std::vector<Sample> samples, Traits traits);

  const DeviceInfo& device() const { return device_; }
  const std::vector<Sample>& samples() const { return samples_; }
  const Traits& traits() const { return traits_; }
  /// Time of all calls behind `cost`; `size` decides how efficient they are. Between two samples
  /// the logarithm of the rate is interpolated; beyond them the nearest counts. Forever for copies
  /// to and from a host tier that could not be measured.
  double seconds(Operation operation, const OperationCost& cost, double size) const;
  /// The same where rows of values are stored as `activations`.
  double seconds(Operation operation, const OperationCost& cost, double size,
                 Precision activations) const;

 private:
  double rate(Operation operation, double size) const;

  DeviceInfo device_;
  std::vector<Sample> samples_;  ///< by operation, then by size
  Traits traits_;
};

/// Whether FLOPs, not bytes, bound the operation.
bool is_compute_bound(Operation operation);
bool is_host_copy(Operation operation);
/// FLOPs or bytes, whichever bounds it.
double work_of(Operation operation, const OperationCost& cost);

/// Measures `backend`'s device, in about a second, and how fast a file in `folder` takes and gives
/// what is offloaded. Throws Cancelled.
DeviceSpeed measure_device(Backend& backend, const std::filesystem::path& folder,
                           const CancelToken& cancel);

Json device_speed_to_json(const DeviceSpeed& speed);
/// Throws damaged naming `place`.
DeviceSpeed device_speed_from_json(const Json& json, const std::string& place);

/// The measurement kept in `home` for this device, threads and program version; absent when there
/// is none or it cannot be read: it is then made again.
std::optional<DeviceSpeed> load_device_speed(const std::filesystem::path& home,
                                             const DeviceInfo& device);
void save_device_speed(const std::filesystem::path& home, const DeviceSpeed& speed);
/// The measurement kept in `home`; without one, calls `on_measure`, measures and keeps it, where
/// that is possible. Throws Cancelled; nothing is kept then.
DeviceSpeed kept_device_speed(
    const std::filesystem::path& home, Backend& backend, const CancelToken& cancel,
    const std::function<void()>& on_measure = [] {});

}  // namespace athanor
