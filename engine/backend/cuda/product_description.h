// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/tensor/tensor.h"

/// Matrix products as cuBLASLt wants them told.
namespace athanor::cuda {

/// Throws what a failed call means.
void check(cublasStatus_t status, const char* action);

/// c = factor · a · b + kept · addend, of matrices by columns, as the library counts: a stored
/// matrix by rows is its transpose by columns. Operands are bf16; with scales they are E4M3 codes.
struct Product {
  std::int64_t rows = 0;  ///< of c
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  bool a_transposed = false;
  bool b_transposed = false;
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::int64_t b_stride =
      0;  ///< numbers from one column to the next, like c's; 0: as many as there are
  std::byte* c = nullptr;
  float factor = 1;
  const std::byte* addend = nullptr;  ///< like c, often c itself, or null
  float kept = 0;
  std::int64_t c_stride = 0;
  DType c_type = DType::bf16;
  const std::byte* bias = nullptr;      ///< [rows], bf16, or null
  const std::byte* gelu_pre = nullptr;  ///< like c, or null: c is multiplied by gelu's slope there
  const std::byte* a_scale = nullptr;   ///< f32 [1], like the next; null: bf16
  const std::byte* b_scale = nullptr;

  bool fp8() const { return a_scale != nullptr; }
  /// Bytes, up to 16, that all addresses are multiples of: more than that no way asks for, and
  /// equal products must not go different ways by chance.
  unsigned alignment() const;
  /// Equal products have one.
  std::string key() const;
};

class Layout {
 public:
  Layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t stride = 0);
  ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

/// All that the library wants to know of a product before its addresses, made once a shape.
class Description {
 public:
  explicit Description(const Product& of);
  ~Description() { cublasLtMatmulDescDestroy(operation_); }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  /// The addresses that are no arguments of the call.
  void point_to(const Product& product);
  cublasLtMatmulDesc_t operation() const { return operation_; }

  Layout a;
  Layout b;
  Layout c;
  cublasLtMatmulAlgo_t way{};
  bool possible = true;  ///< false: the library has no way

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)),
          "describe a matrix product");
  }

  cublasLtMatmulDesc_t operation_ = nullptr;
};

}  // namespace athanor::cuda
