// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace athanor {

/// bf16: the upper half of an f32. u16 holds bits that are no number of their own.
enum class DType { f32, f64, bf16, i32, u16, u8 };

constexpr std::int64_t size_of(DType type) {
  switch (type) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::u16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

/// Up to four extents, outermost first; tensors are dense and row-major.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> extents) {
    assert(extents.size() <= kMaxRank);
    for (const std::int64_t extent : extents)
      extents_[static_cast<std::size_t>(rank_++)] = extent;
  }

  constexpr int rank() const { return rank_; }
  constexpr std::int64_t operator[](int axis) const {
    return extents_[static_cast<std::size_t>(axis)];
  }
  constexpr std::int64_t elements() const {
    std::int64_t product = 1;
    for (int axis = 0; axis < rank_; ++axis)
      product *= (*this)[axis];
    return product;
  }
  friend constexpr bool operator==(const Shape&, const Shape&) = default;
  /// "[2, 128]"
  std::string text() const;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

/// A borrowed view of numbers: who owns the memory is said where it was made (an Arena, a Buffer).
/// `data` is null for an absent tensor and throughout a dry run.
struct Tensor {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const { return elements() * size_of(dtype); }
  std::int64_t rows() const { return shape[0]; }
  /// Elements of one row: the product of all extents but the first.
  std::int64_t row_elements() const { return rows() == 0 ? 0 : elements() / rows(); }
  /// Whether an optional argument was given; dry runs give shapes without data.
  bool present() const { return shape.rank() > 0; }

  template <class T>
  T* as() const {
    assert(sizeof(T) == static_cast<std::size_t>(size_of(dtype)));
    return reinterpret_cast<T*>(data);
  }
  template <class T>
  std::span<T> span() const {
    return {as<T>(), static_cast<std::size_t>(elements())};
  }
  std::span<std::byte> byte_span() const { return {data, static_cast<std::size_t>(bytes())}; }

  /// Rows [first, first + count) as a tensor of the same rank.
  Tensor slice_rows(std::int64_t first, std::int64_t count) const;
  /// The same numbers under another shape of as many elements.
  Tensor reshaped(Shape to) const;
};

}  // namespace athanor
