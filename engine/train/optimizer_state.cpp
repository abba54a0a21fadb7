// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/optimizer_state.h"

#include <algorithm>
#include <array>

#include "engine/backend/operations.h"

namespace athanor {
namespace {

/// Where each parameter's elements begin in a flat tensor, each on a cache line of FP32 or bytes.
class Layout {
 public:
  explicit Layout(std::int64_t element_bytes) : unit_(Arena::kAlignment_bytes / element_bytes) {}

  std::int64_t add(std::int64_t elements) {
    const std::int64_t offset = elements_;
    elements_ += (elements + unit_ - 1) / unit_ * unit_;
    return offset;
  }
  std::int64_t elements() const { return elements_; }

 private:
  std::int64_t unit_;
  std::int64_t elements_ = 0;
};

enum class Kept { numbers, codes, momentum };

/// Where what is kept of a parameter lies in the flat tensors.
struct Place {
  Shape shape;
  Kept kept;
  std::int64_t offset;
  std::int64_t scale_offset;

  Tensor view(const Tensor& flat) const {
    return flat.slice_rows(offset, shape.elements()).reshaped(shape);
  }
  Tensor view_scales(const Tensor& flat) const {
    return flat.slice_rows(scale_offset, moment_blocks(shape.elements()));
  }
};

Kept kept_of(const Parameter& parameter, const TrainConfig& train) {
  const bool of_muon = train.optimizer == Optimizer::muon && !parameter.matrix_rows.empty();
  if (of_muon) return Kept::momentum;
  const bool coded = train.moments == Moments::eight_bit && takes_codes(parameter);
  return coded ? Kept::codes : Kept::numbers;
}

}  // namespace

bool takes_codes(const Parameter& parameter) {
  constexpr std::int64_t kLeast_elements = 4096;
  const bool norm = parameter.start == Parameter::Start::ones;
  const bool of_vocabulary = parameter.shape.rank() == 2 && parameter.matrix_rows.empty();
  return parameter.shape.elements() >= kLeast_elements && !norm && !of_vocabulary;
}

OptimizerState::OptimizerState(const ParameterList& table, const TrainConfig& train, DType real,
                               Arena& arena) {
  std::array<Layout, 3> layouts = {Layout(size_of(DType::f32)), Layout(size_of(DType::u8)),
                                   Layout(size_of(DType::f32))};
  const auto layout_of = [&](Kept kept) -> Layout& {
    return layouts[static_cast<std::size_t>(kept)];
  };
  Layout scales(size_of(DType::f32));
  std::vector<Place> places;
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    const Shape& shape = table.all()[i].shape;
    const Kept kept = kept_of(table.all()[i], train);
    const std::int64_t blocks = kept == Kept::codes ? moment_blocks(shape.elements()) : 0;
    places.push_back({.shape = shape,
                      .kept = kept,
                      .offset = layout_of(kept).add(shape.elements()),
                      .scale_offset = scales.add(blocks)});
  }
  const auto take = [&](DType dtype, const Layout& layout, const char* name) {
    if (layout.elements() == 0) return Tensor();
    flat_.push_back(arena.take(MemoryRole::optimizer, dtype, {layout.elements()}, {name}));
    return flat_.back();
  };
  const Tensor m = take(real, layout_of(Kept::numbers), "first moments");
  const Tensor v = take(real, layout_of(Kept::numbers), "second moments");
  const Tensor m_codes = take(DType::u8, layout_of(Kept::codes), "first moments, 8-bit");
  const Tensor v_codes = take(DType::u8, layout_of(Kept::codes), "second moments, 8-bit");
  const Tensor m_scales = take(real, scales, "scales of first moments");
  const Tensor v_scales = take(real, scales, "scales of second moments");
  const Tensor momentum = take(real, layout_of(Kept::momentum), "Muon's momentum");
  for (const Place& place : places) {
    ParameterMoments& of = moments_.emplace_back();
    switch (place.kept) {
      case Kept::numbers:
        of.m = place.view(m);
        of.v = place.view(v);
        break;
      case Kept::codes:
        of.m = place.view(m_codes);
        of.v = place.view(v_codes);
        of.m_scale = place.view_scales(m_scales);
        of.v_scale = place.view_scales(v_scales);
        break;
      case Kept::momentum:
        of.momentum = place.view(momentum);
        break;
    }
  }
}

bool OptimizerState::any_coded() const {
  return std::any_of(moments_.begin(), moments_.end(),
                     [](const ParameterMoments& of) { return of.coded(); });
}

bool OptimizerState::any_of_muon() const {
  return std::any_of(moments_.begin(), moments_.end(),
                     [](const ParameterMoments& of) { return of.of_muon(); });
}

}  // namespace athanor
