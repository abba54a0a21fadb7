// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cassert>
#include <cstdint>

#include "engine/tensor/bf16.h"
#include "engine/tensor/tensor.h"

namespace athanor::cpu {

/// Where real numbers lie and whether they are f32 or bf16: a tensor without its shape.
struct Reals {
  std::byte* data = nullptr;
  DType type = DType::f32;

  Reals() = default;
  Reals(std::byte* at, DType dtype) : data(at), type(dtype) {}
  Reals(const Tensor& tensor) : data(tensor.data), type(tensor.dtype) {
    assert(tensor.data == nullptr || halves() || tensor.dtype == DType::f32);
  }
  Reals(float* floats) : data(reinterpret_cast<std::byte*>(floats)) {}

  bool present() const { return data != nullptr; }
  /// Whether they are bf16.
  bool halves() const { return type == DType::bf16; }
  float at(std::int64_t element) const {
    return halves() ? widened(as<Bf16>()[element]) : as<float>()[element];
  }
  /// From `element` on.
  Reals from(std::int64_t element) const { return {data + element * size_of(type), type}; }

  template <class T>
  T* as() const {
    assert(sizeof(T) == static_cast<std::size_t>(size_of(type)));
    return reinterpret_cast<T*>(data);
  }
};

/// Calls body with a null pointer to the type of the numbers: `[&]<class T>(T*)`.
template <class Body>
void with_type_of(const Reals& reals, const Body& body) {
  if (reals.halves()) {
    body(static_cast<Bf16*>(nullptr));
  } else {
    body(static_cast<float*>(nullptr));
  }
}

/// Calls body with null pointers to the types of the rows' numbers and of the weights.
template <class Body>
void with_types_of(const Reals& rows, const Reals& weight, const Body& body) {
  with_type_of(rows, [&](auto* row_type) {
    with_type_of(weight, [&](auto* weight_type) { body(row_type, weight_type); });
  });
}

}  // namespace athanor::cpu
