// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/library_products.h"

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "engine/backend/cuda/check.h"
#include "engine/backend/cuda/faults.h"
#include "engine/backend/cuda/product_plans.h"

namespace athanor::cuda {
namespace {

void check(cublasStatus_t status, const char* action) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const auto fault = [&] {
    if (status == CUBLAS_STATUS_EXECUTION_FAILED) return Fault::lost;
    return status == CUBLAS_STATUS_ALLOC_FAILED ? Fault::out_of_memory : Fault::other;
  };
  throw fault_error(fault(), action, std::string("cuBLASLt: ") + cublasLtGetStatusName(status));
}

constexpr const char* kDescribe = "describe a matrix product";

/// c = a · b + kept · addend of matrices by columns, as the library counts: a stored matrix by rows
/// is its transpose by columns.
struct Product {
  std::int64_t rows = 0;  ///< of c
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  bool a_transposed = false;
  bool b_transposed = false;
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* c = nullptr;
  const std::byte* addend = nullptr;  ///< like c, often c itself, or null
  float kept = 0;
  DType c_type = DType::bf16;
  const std::byte* bias = nullptr;  ///< [rows], bf16, or null

  /// Bytes, up to 16, that all addresses are multiples of: more than that no way asks for, and
  /// equal products must not go different ways by chance.
  unsigned alignment() const {
    constexpr std::uintptr_t kMost = 16;
    const auto of = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    const std::uintptr_t all = of(a) | of(b) | of(c) | of(addend) | of(bias) | kMost;
    return static_cast<unsigned>(all & (~all + 1));
  }
  std::string key() const {
    return fmt::format("{}{} {}x{}x{} {}{}{} {}", a_transposed ? 'T' : 'N',
                       b_transposed ? 'T' : 'N', rows, columns, depth,
                       c_type == DType::bf16 ? "bf16" : "f32", addend != nullptr ? " +" : "",
                       bias != nullptr ? " bias" : "", alignment());
  }
};

class Layout {
 public:
  Layout(DType type, std::int64_t rows, std::int64_t columns) {
    check(cublasLtMatrixLayoutCreate(&layout_, type == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F,
                                     static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), rows),
          kDescribe);
  }
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
  explicit Description(const Product& of)
      : a(DType::bf16, of.a_transposed ? of.depth : of.rows, of.a_transposed ? of.rows : of.depth),
        b(DType::bf16, of.b_transposed ? of.columns : of.depth,
          of.b_transposed ? of.depth : of.columns),
        c(of.c_type, of.rows, of.columns) {
    check(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), kDescribe);
    set(CUBLASLT_MATMUL_DESC_TRANSA, of.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, of.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (of.bias == nullptr) return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of.bias);
  }
  ~Description() { cublasLtMatmulDescDestroy(operation_); }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)), kDescribe);
  }
  cublasLtMatmulDesc_t operation() const { return operation_; }

  Layout a;
  Layout b;
  Layout c;
  cublasLtMatmulAlgo_t way{};

 private:
  cublasLtMatmulDesc_t operation_ = nullptr;
};

/// Times pieces of work on a stream.
class Timer {
 public:
  explicit Timer(Stream stream) : stream_(stream) {
    check(cudaEventCreate(&begin_), "make an event");
    check(cudaEventCreate(&end_), "make an event");
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  template <class Work>
  float milliseconds(const Work& work) {
    check(cudaEventRecord(begin_, stream_), "mark a moment");
    work();
    check(cudaEventRecord(end_, stream_), "mark a moment");
    check(cudaEventSynchronize(end_), "finish its work");
    float time = 0;
    check(cudaEventElapsedTime(&time, begin_, end_), "read a clock");
    return time;
  }

 private:
  static void check(cudaError_t result, const char* action) { cuda::check(result, action); }

  Stream stream_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// The card, its driver and the library: what the fastest way depends on.
std::string device_text(const Runtime& runtime) {
  int driver = 0;
  cuda::check(cudaDriverGetVersion(&driver), "tell its driver's version");
  return fmt::format("{}, {}, driver {}, cuBLASLt {}", runtime.device().name,
                     runtime.device().detail, driver, cublasLtGetVersion());
}

class LibraryProducts : public Products {
 public:
  LibraryProducts(Runtime& runtime, const std::filesystem::path& plans)
      : runtime_(runtime), plans_(plans, device_text(runtime)) {
    static_cast<void>(runtime_.stream());
    check(cublasLtCreate(&handle_), "begin with matrix products");
    notice_ = plans_.problem();
  }
  ~LibraryProducts() override { cublasLtDestroy(handle_); }
  LibraryProducts(const LibraryProducts&) = delete;
  LibraryProducts& operator=(const LibraryProducts&) = delete;

  std::string take_notice() override { return std::exchange(notice_, {}); }
  void use_workspace(const Tensor& workspace) override { workspace_ = workspace; }
  void tune(bool on) override {
    tuning_ = on;
    if (!on) plans_.save();
  }
  void linear(const Linear& op) override;
  void linear_backward(const LinearBackward& op) override;
  void multiply(const MatrixProduct& op) override;

 private:
  using Found = std::vector<cublasLtMatmulHeuristicResult_t>;

  void multiply(const Product& product);
  cublasStatus_t run(const Product& product, const Description& as,
                     const cublasLtMatmulAlgo_t& way);
  Description& describe(const Product& product);
  Found candidates(const Product& product, const Description& as) const;
  cublasLtMatmulAlgo_t fastest(const Product& product, const Description& as, const Found& found);
  bool fits(const ProductPlans::Words& words, const Description& as) const;

  Runtime& runtime_;
  ProductPlans plans_;
  cublasLtHandle_t handle_ = nullptr;
  Tensor workspace_;
  bool tuning_ = false;
  std::string notice_;
  std::map<std::string, std::unique_ptr<Description>> descriptions_;
};

void LibraryProducts::linear(const Linear& op) {
  multiply(Product{.rows = op.weight.rows(),
                   .columns = op.x.rows(),
                   .depth = op.x.row_elements(),
                   .a_transposed = true,
                   .a = op.weight.data,
                   .b = op.x.data,
                   .c = op.y.data,
                   .c_type = op.y.dtype,
                   .bias = op.bias.present() ? op.bias.data : nullptr});
}

void LibraryProducts::linear_backward(const LinearBackward& op) {
  const std::int64_t in = op.x.row_elements();
  const std::int64_t out = op.weight.rows();
  multiply(Product{.rows = in,
                   .columns = out,
                   .depth = op.x.rows(),
                   .b_transposed = true,
                   .a = op.x.data,
                   .b = op.d_y.data,
                   .c = op.d_weight.data,
                   .addend = op.d_weight.data,
                   .kept = 1,
                   .c_type = op.d_weight.dtype});
  if (!op.d_x.present()) return;
  multiply(Product{.rows = in,
                   .columns = op.x.rows(),
                   .depth = out,
                   .a = op.weight.data,
                   .b = op.d_y.data,
                   .c = op.d_x.data,
                   .c_type = op.d_x.dtype});
}

void LibraryProducts::multiply(const MatrixProduct& op) {
  multiply(Product{.rows = op.to.shape[1],
                   .columns = op.to.shape[0],
                   .depth = op.depth(),
                   .a_transposed = op.b_transposed,
                   .b_transposed = op.a_transposed,
                   .a = op.b.data,
                   .b = op.a.data,
                   .c = op.to.data,
                   .addend = op.addend.data,
                   .kept = op.factor,
                   .c_type = op.to.dtype});
}

void LibraryProducts::multiply(const Product& product) {
  // Selects the card, also for what only asks.
  static_cast<void>(runtime_.stream());
  Description& as = describe(product);
  if (product.bias != nullptr) as.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
  check(run(product, as, as.way), "multiply matrices");
}

cublasStatus_t LibraryProducts::run(const Product& product, const Description& as,
                                    const cublasLtMatmulAlgo_t& way) {
  const float one = 1;
  const std::byte* addend = product.addend != nullptr ? product.addend : product.c;
  return cublasLtMatmul(handle_, as.operation(), &one, product.a, as.a.get(), product.b, as.b.get(),
                        &product.kept, addend, as.c.get(), product.c, as.c.get(), &way,
                        workspace_.data, static_cast<std::size_t>(workspace_.bytes()),
                        runtime_.stream());
}

Description& LibraryProducts::describe(const Product& product) {
  const std::string key = product.key();
  const auto known = descriptions_.find(key);
  if (known != descriptions_.end()) return *known->second;
  auto as = std::make_unique<Description>(product);
  const std::optional<ProductPlans::Words> planned = plans_.find(key);
  if (planned && fits(*planned, *as)) {
    std::memcpy(&as->way, planned->data(), sizeof(as->way));
  } else {
    const Found found = candidates(product, *as);
    as->way = tuning_ ? fastest(product, *as, found) : found.front().algo;
    if (tuning_) {
      ProductPlans::Words words{};
      static_assert(sizeof(words) == sizeof(as->way));
      std::memcpy(words.data(), &as->way, sizeof(as->way));
      plans_.keep(key, words);
    }
  }
  return *descriptions_.emplace(key, std::move(as)).first->second;
}

/// A file may have been changed, or be of a library that reads it otherwise.
bool LibraryProducts::fits(const ProductPlans::Words& words, const Description& as) const {
  cublasLtMatmulAlgo_t way{};
  std::memcpy(&way, words.data(), sizeof(way));
  cublasLtMatmulHeuristicResult_t result{};
  return cublasLtMatmulAlgoCheck(handle_, as.operation(), as.a.get(), as.b.get(), as.c.get(),
                                 as.c.get(), &way, &result) == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= static_cast<std::size_t>(workspace_.bytes());
}

LibraryProducts::Found LibraryProducts::candidates(const Product& product,
                                                   const Description& as) const {
  constexpr int kMost = 8;
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), kDescribe);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
          kDescribe);
  };
  // Parts of a sum are added up in f32 and rounded once, or not at all.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_.bytes()));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(attribute, static_cast<std::uint32_t>(product.alignment()));
  Found found(kMost);
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, as.operation(), as.a.get(), as.b.get(), as.c.get(),
                                     as.c.get(), preference, kMost, found.data(), &count);
  cublasLtMatmulPreferenceDestroy(preference);
  check(status, "find a way to multiply matrices");
  found.resize(static_cast<std::size_t>(count));
  if (found.empty())
    throw fault_error(Fault::other, "multiply matrices of " + product.key(), "no algorithm");
  return found;
}

cublasLtMatmulAlgo_t LibraryProducts::fastest(const Product& product, const Description& as,
                                              const Found& found) {
  constexpr int kTimes = 3;
  Timer timer(runtime_.stream());
  const cublasLtMatmulHeuristicResult_t* best = &found.front();
  float best_time = INFINITY;
  for (const cublasLtMatmulHeuristicResult_t& candidate : found) {
    if (candidate.state != CUBLAS_STATUS_SUCCESS) continue;
    const cublasStatus_t tried = run(product, as, candidate.algo);
    // Some that are proposed are refused all the same.
    if (tried == CUBLAS_STATUS_NOT_SUPPORTED || tried == CUBLAS_STATUS_INVALID_VALUE) continue;
    check(tried, "multiply matrices");
    const float time = timer.milliseconds([&] {
      for (int i = 0; i < kTimes; ++i)
        check(run(product, as, candidate.algo), "multiply matrices");
    });
    if (time >= best_time) continue;
    best = &candidate;
    best_time = time;
  }
  return best->algo;
}

}  // namespace

std::unique_ptr<Products> make_library_products(Runtime& runtime,
                                                const std::filesystem::path& plans) {
  return std::make_unique<LibraryProducts>(runtime, plans);
}

}  // namespace athanor::cuda
