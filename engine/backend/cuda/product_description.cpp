// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/product_description.h"

#include <fmt/format.h>

#include "engine/backend/cuda/faults.h"

namespace athanor::cuda {
namespace {

constexpr const char* kDescribe = "describe a matrix product";

cudaDataType_t operand_type(const Product& of) {
  return of.fp8() ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
}

}  // namespace

void check(cublasStatus_t status, const char* action) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const auto fault = [&] {
    if (status == CUBLAS_STATUS_EXECUTION_FAILED) return Fault::lost;
    return status == CUBLAS_STATUS_ALLOC_FAILED ? Fault::out_of_memory : Fault::other;
  };
  throw fault_error(fault(), action, std::string("cuBLASLt: ") + cublasLtGetStatusName(status));
}

unsigned Product::alignment() const {
  constexpr std::uintptr_t kMost = 16;
  const auto of = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  const std::uintptr_t all = of(a) | of(b) | of(c) | of(addend) | of(bias) | of(gelu_pre) | kMost;
  return static_cast<unsigned>(all & (~all + 1));
}

std::string Product::key() const {
  const std::string strides =
      b_stride + c_stride > 0 ? fmt::format(" by {},{}", b_stride, c_stride) : std::string();
  return fmt::format("{}{}{} {}x{}x{}{} {}{}{}{} {}", fp8() ? "fp8 " : "", a_transposed ? 'T' : 'N',
                     b_transposed ? 'T' : 'N', rows, columns, depth, strides,
                     c_type == DType::bf16 ? "bf16" : "f32", addend != nullptr ? " +" : "",
                     bias != nullptr ? " bias" : "", gelu_pre != nullptr ? " dgelu" : "",
                     alignment());
}

Layout::Layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  check(cublasLtMatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), stride > 0 ? stride : rows),
        kDescribe);
}

Description::Description(const Product& of)
    : a(operand_type(of), of.a_transposed ? of.depth : of.rows,
        of.a_transposed ? of.rows : of.depth),
      b(operand_type(of), of.b_transposed ? of.columns : of.depth,
        of.b_transposed ? of.depth : of.columns, of.b_stride),
      c(of.c_type == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F, of.rows, of.columns, of.c_stride) {
  check(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), kDescribe);
  set(CUBLASLT_MATMUL_DESC_TRANSA, of.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, of.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (of.bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF);
  }
  if (of.gelu_pre != nullptr) {
    // The library's gelu is the tanh form.
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DGELU);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, CUDA_R_16BF);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, of.rows);
  }
  point_to(of);
}

void Description::point_to(const Product& product) {
  if (product.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
  if (product.gelu_pre != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, product.gelu_pre);
  if (!product.fp8()) return;
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, product.a_scale);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, product.b_scale);
}

}  // namespace athanor::cuda
