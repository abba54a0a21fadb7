// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/library_products.h"

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
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

/// c = factor · a · b + kept · addend of matrices by columns, as the library counts: a stored
/// matrix by rows is its transpose by columns.
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
  const std::byte* bias = nullptr;      ///< [rows], bf16, or null
  const std::byte* gelu_pre = nullptr;  ///< like c, or null: c is multiplied by gelu's slope there
  float factor = 1;

  /// Bytes, up to 16, that all addresses are multiples of: more than that no way asks for, and
  /// equal products must not go different ways by chance.
  unsigned alignment() const {
    constexpr std::uintptr_t kMost = 16;
    const auto of = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    const std::uintptr_t all =
        of(a) | of(b) | of(c) | of(addend) | of(bias) | of(gelu_pre) | kMost;
    return static_cast<unsigned>(all & (~all + 1));
  }
  std::string key() const {
    return fmt::format(
        "{}{} {}x{}x{} {}{}{}{} {}", a_transposed ? 'T' : 'N', b_transposed ? 'T' : 'N', rows,
        columns, depth, c_type == DType::bf16 ? "bf16" : "f32", addend != nullptr ? " +" : "",
        bias != nullptr ? " bias" : "", gelu_pre != nullptr ? " dgelu" : "", alignment());
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
    set_addresses(of);
  }
  ~Description() { cublasLtMatmulDescDestroy(operation_); }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)), kDescribe);
  }
  /// The operation's, which differ between products of one description.
  void set_addresses(const Product& of) {
    if (of.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of.bias);
    if (of.gelu_pre != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, of.gelu_pre);
  }
  cublasLtMatmulDesc_t operation() const { return operation_; }

  Layout a;
  Layout b;
  Layout c;
  std::optional<cublasLtMatmulAlgo_t> way;  ///< absent where the library has none

 private:
  cublasLtMatmulDesc_t operation_ = nullptr;
};

/// A way as plans keep it.
ProductPlans::Words words_of(const cublasLtMatmulAlgo_t& way) {
  ProductPlans::Words words{};
  static_assert(sizeof(words) == sizeof(way));
  std::memcpy(words.data(), &way, sizeof(way));
  return words;
}
cublasLtMatmulAlgo_t way_of(const ProductPlans::Words& words) {
  cublasLtMatmulAlgo_t way{};
  std::memcpy(&way, words.data(), sizeof(way));
  return way;
}

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
  bool has_gelu_slope(const LinearBackward& op) override;
  void multiply(const MatrixProduct& op) override;

 private:
  using Found = std::vector<cublasLtMatmulHeuristicResult_t>;

  void multiply(const Product& product);
  cublasStatus_t run(const Product& product, const Description& as,
                     const cublasLtMatmulAlgo_t& way);
  Description& describe(const Product& product);
  Found candidates(const Product& product, const Description& as) const;
  using Way = std::optional<cublasLtMatmulAlgo_t>;
  Way fastest(const Product& product, const Description& as, const Found& found);
  bool fits(const ProductPlans::Words& words, const Description& as) const;

  Runtime& runtime_;
  ProductPlans plans_;
  cublasLtHandle_t handle_ = nullptr;
  Tensor workspace_;
  bool tuning_ = false;
  std::string notice_;
  std::map<std::string, std::unique_ptr<Description>> descriptions_;
};

Product product_of_d_x(const LinearBackward& op) {
  return {.rows = op.x.row_elements(),
          .columns = op.x.rows(),
          .depth = op.weight.rows(),
          .a = op.weight.data,
          .b = op.d_y.data,
          .c = op.d_x.data,
          .c_type = op.d_x.dtype,
          .gelu_pre = op.gelu_pre.present() ? op.gelu_pre.data : nullptr};
}

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
  if (op.d_x.present()) multiply(product_of_d_x(op));
}

bool LibraryProducts::has_gelu_slope(const LinearBackward& op) {
  // The library wants columns of gelu_pre that begin on multiples of eight numbers.
  if (op.x.row_elements() % 8 != 0) return false;
  static_cast<void>(runtime_.stream());
  return describe(product_of_d_x(op)).way.has_value();
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
                   .kept = op.kept,
                   .c_type = op.to.dtype,
                   .factor = op.factor});
}

void LibraryProducts::multiply(const Product& product) {
  // Selects the card, also for what only asks.
  static_cast<void>(runtime_.stream());
  Description& as = describe(product);
  if (!as.way)
    throw fault_error(Fault::other, "multiply matrices of " + product.key(), "no algorithm");
  as.set_addresses(product);
  check(run(product, as, *as.way), "multiply matrices");
}

cublasStatus_t LibraryProducts::run(const Product& product, const Description& as,
                                    const cublasLtMatmulAlgo_t& way) {
  const std::byte* addend = product.addend != nullptr ? product.addend : product.c;
  return cublasLtMatmul(handle_, as.operation(), &product.factor, product.a, as.a.get(), product.b,
                        as.b.get(), &product.kept, addend, as.c.get(), product.c, as.c.get(), &way,
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
    as->way = way_of(*planned);
  } else if (const Found found = candidates(product, *as); !found.empty()) {
    as->way = tuning_ ? fastest(product, *as, found) : found.front().algo;
    if (tuning_ && as->way) plans_.keep(key, words_of(*as->way));
  }
  return *descriptions_.emplace(key, std::move(as)).first->second;
}

/// A file may have been changed, or be of a library that reads it otherwise.
bool LibraryProducts::fits(const ProductPlans::Words& words, const Description& as) const {
  const cublasLtMatmulAlgo_t way = way_of(words);
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
  // So it says that it has none.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "find a way to multiply matrices");
  found.resize(static_cast<std::size_t>(count));
  return found;
}

LibraryProducts::Way LibraryProducts::fastest(const Product& product, const Description& as,
                                              const Found& found) {
  constexpr int kTimes = 3;
  Timer timer(runtime_.stream());
  Way best;
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
    best = candidate.algo;
    best_time = time;
  }
  return best;
}

}  // namespace

std::unique_ptr<Products> make_library_products(Runtime& runtime,
                                                const std::filesystem::path& plans) {
  return std::make_unique<LibraryProducts>(runtime, plans);
}

}  // namespace athanor::cuda
