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

#include "engine/backend/numbers_in_memory.h"
#include "tests/engine/backend/muon_roundings.h"
#include "tests/engine/backend/tensor_core_roundings.h"
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
  Tensor weights;                    ///< of low bits
  double roundings = 0;              ///< to bf16, in halves of its spacing
  double further = 0;                ///< error that what was rounded on the way leaves
  std::vector<double> further_each;  ///< the same of each element, or empty

  double at(std::int64_t i) const {
    if (weights.present()) {
      return weights.dtype == DType::bf16 ? joined_value(weights, tensor, i) : value_at(weights, i);
    }
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

double magnitude_of(const Tensor& tensor) {
  double magnitude = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    magnitude = std::max(magnitude, std::abs(value_at(tensor, i)));
  }
  return magnitude;
}

/// Half the distance between bf16 numbers at `value`.
double half_spacing(double value) {
  return value == 0 ? 0 : std::ldexp(1.0, std::ilogb(value) - 8);
}

const StoredWeights* stored_weights(const AnyOperation& operation) {
  if (const auto* op = std::get_if<AdamW>(&operation)) return &op->to;
  if (const auto* op = std::get_if<AdamW8>(&operation)) return &op->to;
  if (const auto* op = std::get_if<Muon>(&operation)) return &op->to;
  return nullptr;
}

/// See compare() in the header.
void add_head_loss_roundings(const HeadLoss& op, Output& output) {
  const auto rows = static_cast<double>(op.x.rows());
  if (output.name == "d_weight" && op.d_weight.dtype == DType::bf16) {
    const double chunks = std::ceil(rows / static_cast<double>(op.logits.rows()));
    output.further += (chunks - 1) * half_spacing(2 * magnitude_of(op.d_weight));
  }
  if (op.logits.dtype != DType::bf16) return;
  if (output.name == "d_x")
    output.further += 0x1p-8 * 2 * gradient_scale_of(op) * magnitude_of(op.weight);
  if (output.name == "d_weight")
    output.further += 4 * std::sqrt(rows) * 0x1p-8 * gradient_scale_of(op) * magnitude_of(op.x);
}

/// See compare() in the header.
void add_lora_roundings(const LoraBackward& op, Output& output) {
  if (output.name != "d_x" || op.dropout.rate == 0 || op.dropped.dtype != DType::bf16) return;
  const std::int64_t rank = op.h.row_elements();
  double largest = 0;
  for (std::int64_t i = 0; i < op.d_x.elements(); ++i) {
    const std::int64_t row = i / op.a.row_elements();
    double sum = 0;
    for (std::int64_t r = 0; r < rank; ++r) {
      sum += value_at(op.d_h, row * rank + r) *
             value_at(op.a, r * op.a.row_elements() + i % op.a.row_elements());
    }
    largest = std::max(largest, std::abs(sum));
  }
  output.further += half_spacing(largest) / (1 - op.dropout.rate);
}

void add_roundings(const AnyOperation& operation, std::vector<Output>& outputs) {
  const StoredWeights* stored = stored_weights(operation);
  for (Output& output : outputs) {
    // A peak is one of the values, as it is stored.
    const bool rounded = output.tensor.dtype == DType::bf16 || output.name == "peak";
    output.roundings = rounded ? 1 : 0;
    if (stored != nullptr && output.name == "low_bits") output.weights = stored->weights;
    const bool at_random =
        stored != nullptr && !stored->master.present() && !stored->low_bits.present();
    if (at_random) output.roundings *= 2;
    const auto* product = std::get_if<LinearBackward>(&operation);
    if (product != nullptr && product->gelu_pre.present() && output.name == "d_x")
      output.roundings *= 3;
    if (const auto* head = std::get_if<HeadLoss>(&operation)) {
      add_head_loss_roundings(*head, output);
    }
    if (const auto* lora = std::get_if<LoraBackward>(&operation)) {
      add_lora_roundings(*lora, output);
    }
  }
}

std::vector<Output> outputs_of(AnyOperation operation) {
  std::vector<Output> outputs;
  const auto keep = [&](const char* name, const Tensor& tensor, Kind, Use use, std::int64_t terms) {
    if (tensor.present() && (use == Use::output || use == Use::changed)) {
      outputs.push_back({name, tensor, terms});
    }
  };
  std::visit([&](auto& op) { visit_tensors(op, keep); }, operation);
  add_roundings(operation, outputs);
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

/// With what must be known to compare them, and takes time.
std::vector<Output> judged_outputs_of(const AnyOperation& operation) {
  std::vector<Output> outputs = outputs_of(operation);
  const auto* muon = std::get_if<Muon>(&operation);
  if (muon == nullptr) return outputs;
  const double iterated = muon_rounding(*muon);
  for (Output& output : outputs)
    if (output.name != "momentum") output.further += iterated;
  return outputs;
}

double magnitude_of(const Output& output) {
  double magnitude = 0;
  for (std::int64_t i = 0; i < output.tensor.elements(); ++i)
    magnitude = std::max(magnitude, std::abs(output.at(i)));
  return magnitude;
}

/// By how much elements of an output may differ from what is wanted.
class Allowance {
 public:
  Allowance(const Output& got, const Output& wanted, double gain)
      : got_(got),
        wanted_(wanted),
        alike_(tolerance(wanted.terms, gain, magnitude_of(wanted)) + got.further) {}
  double at(std::int64_t i) const {
    if (wanted_.codes != nullptr) return wanted_.distance_to_neighbour(i);
    const double own =
        wanted_.further_each.empty() ? 0 : wanted_.further_each[static_cast<std::size_t>(i)];
    return alike_ + own + got_.roundings * half_spacing(wanted_.at(i));
  }

 private:
  const Output& got_;
  const Output& wanted_;
  double alike_;
};

}  // namespace

DType RealTypes::of(Kind kind) const {
  switch (kind) {
    case Kind::rows:
      return rows;
    case Kind::weight:
      return weights;
    case Kind::gradient:
      return gradients;
    case Kind::operand:
      return operands;
    default:
      return statistics;
  }
}

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

bool has_reals(AnyOperation operation, Kind wanted) {
  bool found = false;
  const auto look = [&](const char*, const Tensor& tensor, Kind kind, Use, std::int64_t) {
    found = found || (tensor.present() && kind == wanted && tensor.dtype == DType::f64);
  };
  std::visit([&](auto& op) { visit_tensors(op, look); }, operation);
  return found;
}

void copy_outputs(AnyOperation& to, const AnyOperation& from) {
  const std::vector<Output> wanted = outputs_of(from);
  const std::vector<Output> outputs = outputs_of(to);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    copy_values(outputs[o].tensor, wanted[o].tensor);
}

AnyOperation copy_operation(const AnyOperation& from, Arena& arena, const RealTypes& types) {
  AnyOperation copy = from;
  std::map<const std::byte*, Tensor> copied;
  const auto move_tensor = [&](const char*, Tensor& tensor, Kind kind, Use use, std::int64_t) {
    if (!tensor.present()) return;
    const Tensor original = tensor;
    const auto known = copied.find(original.data);
    if (known != copied.end()) {
      tensor = known->second;
      return;
    }
    const bool real = original.dtype == DType::f32 || original.dtype == DType::f64;
    const bool widened = original.dtype == DType::bf16 && types.of(kind) == DType::f64;
    const DType dtype = real || widened ? types.of(kind) : original.dtype;
    tensor = arena.take(MemoryRole::workspace, dtype, original.shape);
    copied[original.data] = tensor;
    if (use == Use::input || use == Use::changed) {
      copy_values(tensor, original);
    } else if (kind == Kind::integer) {
      std::ranges::fill(tensor.byte_span(), std::byte{0xFF});
    } else {
      fill(tensor, real || widened ? std::numeric_limits<double>::quiet_NaN() : 0xFF);
    }
  };
  std::visit([&](auto& op) { visit_tensors(op, move_tensor); }, copy);
  return copy;
}

double tolerance(std::int64_t terms, double gain, double magnitude) {
  constexpr double kUnit_roundoff = 0x1p-24;
  return 4 * std::sqrt(static_cast<double>(terms)) * gain * kUnit_roundoff * magnitude;
}

Deviation compare(const AnyOperation& actual, const AnyOperation& expected, double gain,
                  Arithmetic arithmetic) {
  Deviation worst;
  const std::vector<Output> got = judged_outputs_of(actual);
  std::vector<Output> wanted = outputs_of(expected);
  for (std::size_t o = 0; o < wanted.size(); ++o) {
    if (arithmetic == Arithmetic::tensor_cores)
      wanted[o].further_each = tensor_core_roundings(expected, wanted[o].name);
    const Allowance allowance(got[o], wanted[o], gain);
    for (std::int64_t i = 0; i < wanted[o].tensor.elements(); ++i) {
      const double a = got[o].at(i);
      const double e = wanted[o].at(i);
      const double error = std::abs(a - e);
      if (error == 0) continue;
      const double allowed = allowance.at(i);
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
  const std::vector<Output> outputs = judged_outputs_of(operation);
  const std::vector<Output> wanted = outputs_of(expected);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (magnitude_of(wanted[o].tensor) == 0) continue;
    const std::int64_t element = outputs[o].tensor.elements() / 2;
    const double error = tolerances * Allowance(outputs[o], wanted[o], gain).at(element);
    set_value(outputs[o].tensor, element, value_at(outputs[o].tensor, element) + error);
    return;
  }
}

}  // namespace athanor
