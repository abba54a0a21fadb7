// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/case_instance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <limits>
#include <map>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/in_arena.h"
#include "tests/support/moment_values.h"

namespace athanor {
namespace {

struct Output {
  std::string name;
  Tensor tensor;
  std::int64_t terms;
  Tensor scales;  ///< of an 8-bit moment
  const std::vector<double>* codes = nullptr;

  double at(std::int64_t i) const {
    const double value = value_at(tensor, i);
    if (codes == nullptr) return value;
    return (*codes)[static_cast<std::size_t>(value)] * value_at(scales, i / kMomentBlock);
  }
  /// Two that agree in FP32 may lie on different sides of the middle between two codes, so that
  /// they are kept as neighbours.
  double distance_to_neighbour(std::int64_t i) const {
    const auto code = static_cast<std::size_t>(value_at(tensor, i));
    const std::size_t below = code == 0 ? 0 : code - 1;
    const std::size_t above = std::min(code + 1, codes->size() - 1);
    const double distance =
        std::max((*codes)[above] - (*codes)[code], (*codes)[code] - (*codes)[below]);
    return 1.00001 * distance * value_at(scales, i / kMomentBlock);
  }
};

std::vector<Output> outputs_of(AnyOperation operation) {
  std::vector<Output> outputs;
  const auto keep = [&](const char* name, const Tensor& tensor, Use use, std::int64_t terms) {
    if (tensor.present() && (use == Use::output || use == Use::changed)) {
      outputs.push_back({name, tensor, terms, {}, nullptr});
    }
  };
  std::visit([&](auto& op) { visit_tensors(op, keep); }, operation);
  if (const auto* coded = std::get_if<AdamW8>(&operation)) {
    for (Output& output : outputs) {
      if (output.tensor.dtype != DType::u8) continue;
      const bool first = output.name == "m";
      output.scales = first ? coded->m_scale : coded->v_scale;
      output.codes = first ? &signed_moment_values() : &unsigned_moment_values();
    }
  }
  return outputs;
}

double magnitude_of(const Tensor& tensor) {
  double magnitude = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    magnitude = std::max(magnitude, std::abs(value_at(tensor, i)));
  }
  return magnitude;
}

}  // namespace

void execute(Backend& backend, AnyOperation& operation) {
  std::visit(
      [&](auto& op) {
        if constexpr (std::is_same_v<std::decay_t<decltype(op)>, SumOfSquares>) {
          set_value(op.result, 0, backend.sum_of_squares(op.x));
        } else {
          backend.run(op);
        }
      },
      operation);
}

AnyOperation copy_operation(const AnyOperation& from, Arena& arena, DType real_type) {
  AnyOperation copy = from;
  std::map<const std::byte*, Tensor> copied;
  const auto move_tensor = [&](const char*, Tensor& tensor, Use use, std::int64_t) {
    if (!tensor.present()) return;
    const Tensor original = tensor;
    const auto known = copied.find(original.data);
    if (known != copied.end()) {
      tensor = known->second;
      return;
    }
    const bool integers = original.dtype == DType::i32 || original.dtype == DType::u8;
    const DType dtype = integers ? original.dtype : real_type;
    tensor = arena.take(MemoryRole::workspace, dtype, original.shape);
    copied[original.data] = tensor;
    if (use == Use::input || use == Use::changed) {
      copy_values(tensor, original);
    } else {
      fill(tensor, std::numeric_limits<double>::quiet_NaN());
    }
  };
  std::visit([&](auto& op) { visit_tensors(op, move_tensor); }, copy);
  return copy;
}

double tolerance(std::int64_t terms, double gain, double magnitude) {
  constexpr double kUnit_roundoff = 0x1p-24;
  return 4 * std::sqrt(static_cast<double>(terms)) * gain * kUnit_roundoff * magnitude;
}

Deviation compare(const AnyOperation& actual, const AnyOperation& expected, double gain) {
  Deviation worst;
  const std::vector<Output> got = outputs_of(actual);
  const std::vector<Output> wanted = outputs_of(expected);
  for (std::size_t o = 0; o < wanted.size(); ++o) {
    const bool coded = wanted[o].codes != nullptr;
    double allowed = tolerance(wanted[o].terms, gain, magnitude_of(wanted[o].tensor));
    for (std::int64_t i = 0; i < wanted[o].tensor.elements(); ++i) {
      const double a = got[o].at(i);
      const double e = wanted[o].at(i);
      if (coded) allowed = wanted[o].distance_to_neighbour(i);
      const double error = std::abs(a - e);
      if (error == 0) continue;
      // A value that is not a number is wrong by any measure.
      const double share =
          std::isfinite(error) ? error / allowed : std::numeric_limits<double>::infinity();
      if (share <= worst.share) continue;
      std::ostringstream place;
      place << std::setprecision(9) << wanted[o].name << "[" << i << "]: " << a << " instead of "
            << e << ", tolerance " << allowed;
      worst = {share, place.str()};
    }
  }
  return worst;
}

bool same_bits(const AnyOperation& a, const AnyOperation& b) {
  const std::vector<Output> first = outputs_of(a);
  const std::vector<Output> second = outputs_of(b);
  for (std::size_t o = 0; o < first.size(); ++o) {
    const auto bytes = static_cast<std::size_t>(first[o].tensor.bytes());
    if (std::memcmp(first[o].tensor.data, second[o].tensor.data, bytes) != 0) return false;
  }
  return true;
}

void perturb(AnyOperation& operation, const AnyOperation& expected, double gain,
             double tolerances) {
  const std::vector<Output> outputs = outputs_of(operation);
  const std::vector<Output> wanted = outputs_of(expected);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const double magnitude = magnitude_of(wanted[o].tensor);
    if (magnitude == 0) continue;
    const std::int64_t element = outputs[o].tensor.elements() / 2;
    set_value(outputs[o].tensor, element,
              value_at(outputs[o].tensor, element) +
                  tolerances * tolerance(outputs[o].terms, gain, magnitude));
    return;
  }
}

}  // namespace athanor
