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
#include "engine/backend/cuda/product_description.h"
#include "engine/backend/cuda/product_plans.h"

namespace athanor::cuda {
namespace {

constexpr const char* kDescribe = "describe a matrix product";

bool is_refused(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
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
  void linear(const LinearFp8& op) override;
  void linear_backward(const LinearBackwardFp8& op) override;

 private:
  using Found = std::vector<cublasLtMatmulHeuristicResult_t>;

  /// The products of a linear layer; x, d_y and weight [out, in] by rows, in bf16.
  static Product forward(const Linear& op);
  static Product weight_gradient(const LinearBackward& op);
  static Product input_gradient(const LinearBackward& op);

  void multiply(const Product& product);
  /// `fp8` where there is a way, else `bf16`, with a notice when that is found out.
  void multiply(const Product& fp8, const Product& bf16);
  /// False, with nothing done, where the library has no way.
  bool try_to_multiply(const Product& product);
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
  bool noticed_no_fp8_ = false;
  std::string notice_;
  std::map<std::string, std::unique_ptr<Description>> descriptions_;
};

Product LibraryProducts::forward(const Linear& op) {
  return {.rows = op.weight.rows(),
          .columns = op.x.rows(),
          .depth = op.x.row_elements(),
          .a_transposed = true,
          .a = op.weight.data,
          .b = op.x.data,
          .c = op.y.data,
          .c_type = op.y.dtype,
          .bias = op.bias.present() ? op.bias.data : nullptr};
}

Product LibraryProducts::weight_gradient(const LinearBackward& op) {
  return {.rows = op.x.row_elements(),
          .columns = op.weight.rows(),
          .depth = op.x.rows(),
          .b_transposed = true,
          .a = op.x.data,
          .b = op.d_y.data,
          .c = op.d_weight.data,
          .addend = op.d_weight.data,
          .kept = 1,
          .c_type = op.d_weight.dtype};
}

Product LibraryProducts::input_gradient(const LinearBackward& op) {
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
  multiply(forward(op));
}

void LibraryProducts::linear_backward(const LinearBackward& op) {
  if (op.d_weight.present()) multiply(weight_gradient(op));
  if (op.d_x.present()) multiply(input_gradient(op));
}

bool LibraryProducts::has_gelu_slope(const LinearBackward& op) {
  // The library wants columns of gelu_pre that begin on multiples of eight numbers.
  if (op.x.row_elements() % 8 != 0) return false;
  static_cast<void>(runtime_.stream());
  return describe(input_gradient(op)).possible;
}

void LibraryProducts::multiply(const MatrixProduct& op) {
  multiply(Product{.rows = op.to.shape[1],
                   .columns = op.to.shape[0],
                   .depth = op.depth(),
                   .a_transposed = op.b_transposed,
                   .b_transposed = op.a_transposed,
                   .a = op.b.data,
                   .b = op.a.data,
                   .b_stride = op.a_stride,
                   .c = op.to.data,
                   .factor = op.factor,
                   .addend = op.addend.data,
                   .kept = op.kept,
                   .c_stride = op.to_stride,
                   .c_type = op.to.dtype});
}

namespace {

/// `product` of codes: a transposed, b not, which is the one form that all cards have.
Product of_codes(Product product, const Fp8& a, const Fp8& b) {
  product.a_transposed = true;
  product.b_transposed = false;
  product.a = a.codes.data;
  product.b = b.codes.data;
  product.a_scale = a.scale.data;
  product.b_scale = b.scale.data;
  return product;
}

}  // namespace

void LibraryProducts::linear(const LinearFp8& op) {
  const Product bf16 = forward(op.in_rows_type);
  multiply(of_codes(bf16, op.weight, op.x), bf16);
}

void LibraryProducts::linear_backward(const LinearBackwardFp8& op) {
  const LinearBackward& as = op.in_rows_type;
  const Product d_weight = weight_gradient(as);
  multiply(of_codes(d_weight, op.x_transposed, op.d_y_transposed), d_weight);
  if (!as.d_x.present()) return;
  const Product d_x = input_gradient(as);
  multiply(of_codes(d_x, op.weight_transposed, op.d_y), d_x);
}

void LibraryProducts::multiply(const Product& product) {
  if (!try_to_multiply(product))
    throw fault_error(Fault::other, "multiply matrices of " + product.key(), "no algorithm");
}

void LibraryProducts::multiply(const Product& fp8, const Product& bf16) {
  const bool has_extents = in_fp8_extents(fp8.rows, fp8.columns, fp8.depth);
  if (has_extents && try_to_multiply(fp8)) return;
  if (!std::exchange(noticed_no_fp8_, true)) {
    notice_ = no_fp8_notice(
        fp8.columns, fp8.depth, fp8.rows,
        has_extents ? "cuBLASLt has no algorithm for them in FP8 on this card" : kNot_fp8_extents);
  }
  multiply(bf16);
}

bool LibraryProducts::try_to_multiply(const Product& product) {
  // Selects the card, also for what only asks.
  static_cast<void>(runtime_.stream());
  Description& as = describe(product);
  if (!as.possible) return false;
  as.point_to(product);
  const cublasStatus_t status = run(product, as, as.way);
  as.possible = !is_refused(status);
  if (as.possible) check(status, "multiply matrices");
  return as.possible;
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
    std::memcpy(&as->way, planned->data(), sizeof(as->way));
  } else {
    const Found found = candidates(product, *as);
    as->possible = !found.empty();
    if (as->possible) as->way = tuning_ ? fastest(product, *as, found) : found.front().algo;
    if (tuning_ && as->possible) {
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
  if (is_refused(status)) return {};
  check(status, "find a way to multiply matrices");
  found.resize(static_cast<std::size_t>(count));
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
    if (is_refused(tried)) continue;
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
