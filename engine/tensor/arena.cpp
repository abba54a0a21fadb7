// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tensor/arena.h"

#include <algorithm>

#include "engine/base/error.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) \
  (static_cast<void>(address), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) \
  (static_cast<void>(address), static_cast<void>(size))
#endif

namespace athanor {
namespace {

constexpr std::size_t kReserved_pieces = 4096;
/// Of one end: the sum of both still fits 64 bits.
constexpr std::int64_t kMost_bytes = std::int64_t{1} << 60;

/// Whole cache lines for `shape`. Throws invalid_argument where 64 bits do not hold the size.
std::int64_t rounded_bytes(DType dtype, const Shape& shape) {
  std::int64_t bytes = size_of(dtype);
  bool fits = true;
  for (int axis = 0; axis < shape.rank(); ++axis)
    fits = fits && !__builtin_mul_overflow(bytes, shape[axis], &bytes);
  if (!fits || bytes > kMost_bytes) {
    throw Error(ErrorKind::invalid_argument,
                "A tensor of shape " + shape.text() +
                    " is larger than any computer's memory. Use a smaller model or batch.");
  }
  return (bytes + Arena::kAlignment_bytes - 1) / Arena::kAlignment_bytes * Arena::kAlignment_bytes;
}

}  // namespace

std::string_view name_of(MemoryRole role) {
  return names_of(role)[static_cast<std::size_t>(role)];
}

std::string BufferName::text() const {
  return layer < 0 ? what : std::string(what) + " of layer " + std::to_string(layer + 1);
}

Arena::~Arena() {
  // Whoever gets these pages next may use them.
  ASAN_UNPOISON_MEMORY_REGION(buffer_.data(), static_cast<std::size_t>(buffer_.bytes()));
}

void Arena::reserve() {
  low_.pieces.reserve(kReserved_pieces);
  high_.pieces.reserve(kReserved_pieces);
  // What is not handed out must not be touched.
  if (!recording()) {
    ASAN_POISON_MEMORY_REGION(buffer_.data(), static_cast<std::size_t>(buffer_.bytes()));
  }
}

Tensor Arena::take(MemoryRole role, DType dtype, Shape shape, BufferName name) {
  return place(low_, role, dtype, shape, name);
}

Tensor Arena::borrow(MemoryRole role, DType dtype, Shape shape, BufferName name) {
  return place(high_, role, dtype, shape, name);
}

std::byte* Arena::address(const End& end, std::int64_t size_bytes) const {
  return &end == &low_ ? buffer_.data() + end.bytes
                       : buffer_.data() + buffer_.bytes() - end.bytes - size_bytes;
}

Tensor Arena::place(End& end, MemoryRole role, DType dtype, Shape shape, BufferName name) {
  const std::int64_t size_bytes = rounded_bytes(dtype, shape);
  Tensor tensor{nullptr, dtype, shape};
  ++moment_;
  if (recording()) {
    records_.push_back({.name = name,
                        .role = role,
                        .size_bytes = size_bytes,
                        .borrowed = &end == &high_,
                        .offset_bytes = end.bytes,
                        .first_moment = moment_});
  } else {
    if (size_bytes > buffer_.bytes() - low_.bytes - high_.bytes) {
      throw Error(ErrorKind::internal, "A step needed more memory than was planned for it.",
                  std::string(name_of(role)) + " " + shape.text());
    }
    tensor.data = address(end, size_bytes);
    ASAN_UNPOISON_MEMORY_REGION(tensor.data, static_cast<std::size_t>(tensor.bytes()));
  }
  // Capacity grows during the first step only; every later step repeats the same takes.
  end.pieces.push_back({size_bytes, role, records_.size() - (recording() ? 1 : 0)});
  if (__builtin_add_overflow(end.bytes, size_bytes, &end.bytes) || end.bytes > kMost_bytes) {
    throw Error(ErrorKind::invalid_argument,
                "The run needs more memory than any computer has. Use a smaller model or batch.");
  }
  now_by_role_[static_cast<int>(role)] += size_bytes;
  if (low_.bytes + high_.bytes > plan_.peak_bytes) {
    plan_.peak_bytes = low_.bytes + high_.bytes;
    plan_.peak_moment = moment_;
    plan_.peak_phase = phase_;
    std::copy(std::begin(now_by_role_), std::end(now_by_role_), std::begin(plan_.by_role));
  }
  return tensor;
}

void Arena::give_back(End& end, std::int64_t down_to_bytes) {
  while (end.bytes > down_to_bytes) {
    const Piece& piece = end.pieces.back();
    end.bytes -= piece.size_bytes;
    now_by_role_[static_cast<int>(piece.role)] -= piece.size_bytes;
    ++moment_;
    if (recording()) {
      records_[piece.record].end_moment = moment_;
    } else {
      ASAN_POISON_MEMORY_REGION(address(end, piece.size_bytes),
                                static_cast<std::size_t>(piece.size_bytes));
    }
    end.pieces.pop_back();
  }
}

void Arena::rewind(const Mark& mark) {
  give_back(high_, mark.high_bytes);
  give_back(low_, mark.low_bytes);
}

void Arena::rewind_taken(const Mark& mark) {
  give_back(low_, mark.low_bytes);
}

void Arena::rewind_borrowed(const Mark& mark) {
  give_back(high_, mark.high_bytes);
}

void Arena::begin(Phase phase) {
  phase_ = phase;
  if (recording()) phases_.push_back({phase, moment_});
}

}  // namespace athanor
