// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/optimizer_state.h"

#include <algorithm>

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

/// Where a parameter's moments lie in the flat tensors.
struct Place {
  Shape shape;
  bool coded;
  std::int64_t offset;
  std::int64_t scale_offset;

  Tensor view(const Tensor& flat) const {
    return flat.slice_rows(offset, shape.elements()).reshaped(shape);
  }
  Tensor view_scales(const Tensor& flat) const {
    return coded ? flat.slice_rows(scale_offset, moment_blocks(shape.elements())) : Tensor();
  }
};

}  // namespace

bool takes_codes(const ParameterTable& table, std::size_t parameter) {
  constexpr std::int64_t kLeast_elements = 4096;
  const Parameter& of = table.all()[parameter];
  const auto index = static_cast<int>(parameter);
  const bool norm = of.start == Parameter::Start::ones;
  return of.shape.elements() >= kLeast_elements && !norm && index != table.embedding() &&
         index != table.head();
}

OptimizerState::OptimizerState(const ParameterTable& table, Moments moments, DType real,
                               Arena& arena) {
  Layout numbers(size_of(DType::f32));
  Layout codes(size_of(DType::u8));
  Layout scales(size_of(DType::f32));
  std::vector<Place> places;
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    const Shape& shape = table.all()[i].shape;
    const bool coded = moments == Moments::eight_bit && takes_codes(table, i);
    places.push_back({.shape = shape,
                      .coded = coded,
                      .offset = (coded ? codes : numbers).add(shape.elements()),
                      .scale_offset = coded ? scales.add(moment_blocks(shape.elements())) : 0});
  }
  const auto take = [&](DType dtype, const Layout& layout, const char* name) {
    if (layout.elements() == 0) return Tensor();
    flat_.push_back(arena.take(MemoryRole::optimizer, dtype, {layout.elements()}, {name}));
    return flat_.back();
  };
  const Tensor m = take(real, numbers, "first moments");
  const Tensor v = take(real, numbers, "second moments");
  const Tensor m_codes = take(DType::u8, codes, "first moments, 8-bit");
  const Tensor v_codes = take(DType::u8, codes, "second moments, 8-bit");
  const Tensor m_scales = take(real, scales, "scales of first moments");
  const Tensor v_scales = take(real, scales, "scales of second moments");
  for (const Place& place : places) {
    moments_.push_back({.m = place.view(place.coded ? m_codes : m),
                        .v = place.view(place.coded ? v_codes : v),
                        .m_scale = place.view_scales(m_scales),
                        .v_scale = place.view_scales(v_scales)});
  }
}

bool OptimizerState::any_coded() const {
  return std::any_of(moments_.begin(), moments_.end(),
                     [](const ParameterMoments& of) { return of.coded(); });
}

}  // namespace athanor
