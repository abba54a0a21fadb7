// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/planner/device_speed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"

namespace athanor {
namespace {

/// Raised when kernels change so much that old measurements mislead.
constexpr std::int64_t kFormat = 6;

std::filesystem::path cache_file(const std::filesystem::path& home) {
  return home / "device-speed.json";
}

bool same_device(const DeviceInfo& a, const DeviceInfo& b) {
  return a.name == b.name && a.detail == b.detail && a.threads == b.threads;
}

Operation operation_named(const std::string& name, const std::string& place) {
  const auto names = names_of(Operation{});
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorKind::damaged, place + " names an operation that is not known.");
  }
  return static_cast<Operation>(found - names.begin());
}

/// Bytes bound it, and they are those of tokens' rows.
bool works_on_rows(Operation operation) {
  switch (operation) {
    case Operation::adamw:
    case Operation::adamw_8bit:
    case Operation::sum_of_squares:
      return false;
    default:
      return !is_compute_bound(operation) && !is_host_copy(operation);
  }
}

bool is_share(double value) {
  return value > 0 && value < 1e3;
}

}  // namespace

bool is_host_copy(Operation operation) {
  return operation == Operation::from_host || operation == Operation::to_host;
}

DeviceSpeed::DeviceSpeed(DeviceInfo device, std::vector<Sample> samples, Traits traits)
    : device_(std::move(device)), samples_(std::move(samples)), traits_(traits) {
  std::sort(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
    return std::tie(a.operation, a.size) < std::tie(b.operation, b.size);
  });
}

bool is_compute_bound(Operation operation) {
  switch (operation) {
    case Operation::linear:
    case Operation::linear_backward:
    case Operation::linear_fp8:
    case Operation::linear_backward_fp8:
    case Operation::attention:
    case Operation::attention_backward:
    case Operation::head_loss:
    case Operation::muon:
      return true;
    default:
      return false;
  }
}

double work_of(Operation operation, const OperationCost& cost) {
  return is_compute_bound(operation) ? cost.flops : cost.bytes;
}

double DeviceSpeed::rate(Operation operation, double size) const {
  const auto [first, last] =
      std::equal_range(samples_.begin(), samples_.end(), Sample{.operation = operation},
                       [](const Sample& a, const Sample& b) { return a.operation < b.operation; });
  if (first == last) return 0;
  const auto above = std::find_if(first, last, [&](const Sample& s) { return s.size >= size; });
  if (above == first) return first->per_second;
  if (above == last) return (last - 1)->per_second;
  const Sample& low = *(above - 1);
  const Sample& high = *above;
  const double share = std::log(size / low.size) / std::log(high.size / low.size);
  return low.per_second * std::pow(high.per_second / low.per_second, share);
}

double DeviceSpeed::seconds(Operation operation, const OperationCost& cost, double size) const {
  const double work = work_of(operation, cost);
  if (work == 0) return 0;
  const double per_second = rate(operation, size);
  const double calls = traits_.call_seconds * static_cast<double>(cost.calls);
  if (per_second > 0) return work / per_second + calls;
  return is_host_copy(operation) ? std::numeric_limits<double>::infinity() : calls;
}

double DeviceSpeed::seconds(Operation operation, const OperationCost& cost, double size,
                            Precision activations) const {
  const double all = seconds(operation, cost, size);
  if (activations == Precision::f32 || !works_on_rows(operation)) return all;
  const double calls = traits_.call_seconds * static_cast<double>(cost.calls);
  return calls + (all - calls) / traits_.bf16_share;
}

Json device_speed_to_json(const DeviceSpeed& speed) {
  Json samples = Json::array();
  for (const DeviceSpeed::Sample& sample : speed.samples()) {
    samples.push_back(
        {{"operation", names_of(Operation{})[static_cast<std::size_t>(sample.operation)]},
         {"size", sample.size},
         {"per_second", sample.per_second}});
  }
  return {{"format", kFormat},
          {"device", speed.device().name},
          {"detail", speed.device().detail},
          {"threads", speed.device().threads},
          {"call_seconds", speed.traits().call_seconds},
          {"bf16_share", speed.traits().bf16_share},
          {"samples", samples}};
}

DeviceSpeed device_speed_from_json(const Json& json, const std::string& place) {
  try {
    if (json.at("format").get<std::int64_t>() != kFormat) {
      throw Error(ErrorKind::damaged, place + " is of another version.");
    }
    std::vector<DeviceSpeed::Sample> samples;
    for (const Json& sample : json.at("samples")) {
      samples.push_back({operation_named(sample.at("operation").get<std::string>(), place),
                         sample.at("size").get<double>(), sample.at("per_second").get<double>()});
      const DeviceSpeed::Sample& read = samples.back();
      if (!(read.size > 0) || !(read.per_second > 0) || !std::isfinite(read.size) ||
          !std::isfinite(read.per_second)) {
        throw Error(ErrorKind::damaged, place + " has a speed that is not possible.");
      }
    }
    // Without rates every run would be predicted to take no time.
    if (samples.empty()) throw Error(ErrorKind::damaged, place + " has no speeds.");
    const double call_seconds = json.at("call_seconds").get<double>();
    const double bf16_share = json.at("bf16_share").get<double>();
    if (!(call_seconds >= 0 && call_seconds < 1) || !is_share(bf16_share)) {
      throw Error(ErrorKind::damaged, place + " has a speed that is not possible.");
    }
    return {{json.at("device").get<std::string>(), json.at("detail").get<std::string>(),
             json.at("threads").get<int>()},
            std::move(samples),
            DeviceSpeed::Traits{.call_seconds = call_seconds, .bf16_share = bf16_share}};
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::damaged, place + " is not a measurement of this program.", error.what());
  }
}

std::optional<DeviceSpeed> load_device_speed(const std::filesystem::path& home,
                                             const DeviceInfo& device) {
  const std::filesystem::path file = cache_file(home);
  try {
    DeviceSpeed speed = device_speed_from_json(read_json_file(file), file.string());
    if (same_device(speed.device(), device)) return speed;
  } catch (const Error&) {
    // It takes a second to measure again.
  }
  return std::nullopt;
}

void save_device_speed(const std::filesystem::path& home, const DeviceSpeed& speed) {
  write_file_atomically(cache_file(home), device_speed_to_json(speed).dump(2) + "\n");
}

DeviceSpeed kept_device_speed(const std::filesystem::path& home, Backend& backend,
                              const CancelToken& cancel, const std::function<void()>& on_measure) {
  if (auto known = load_device_speed(home, backend.device())) return *std::move(known);
  on_measure();
  const auto try_to = [](const auto& keep) {
    try {
      keep();
    } catch (const Error&) {
      // A full disk, or a folder of that name: it holds for now and is made again the next time.
    }
  };
  try_to([&] { create_folders(home); });
  DeviceSpeed speed = measure_device(backend, home, cancel);
  try_to([&] { save_device_speed(home, speed); });
  return speed;
}

}  // namespace athanor
