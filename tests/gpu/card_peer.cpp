// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gpu/card_peer.h"

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <stdexcept>
#include <vector>

#include "engine/base/philox.h"
#include "engine/tensor/bf16.h"

namespace athanor {
namespace {

void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}
void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasLtGetStatusName(status));
}

class CardMemory {
 public:
  explicit CardMemory(std::int64_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)));
  }
  ~CardMemory() { cudaFree(data_); }
  CardMemory(const CardMemory&) = delete;
  CardMemory& operator=(const CardMemory&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }
  /// Normal numbers: a card that multiplies zeros draws less power and runs faster.
  void fill_with_bf16() {
    static const std::vector<Bf16> numbers = [] {
      const Philox random(1, 0);
      std::vector<Bf16> made(1 << 20);
      for (std::size_t i = 0; i < made.size(); ++i)
        made[i] = nearest_bf16(random.normal(i));
      return made;
    }();
    const std::size_t most = numbers.size() * sizeof(Bf16);
    for (std::size_t first = 0; first < bytes(); first += most) {
      check(cudaMemcpy(static_cast<std::byte*>(data_) + first, numbers.data(),
                       std::min(most, bytes() - first), cudaMemcpyHostToDevice));
    }
  }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_;
};

class Timer {
 public:
  Timer() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cudaEventCreate(&begin_));
    check(cudaEventCreate(&end_));
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  cudaStream_t stream() const { return stream_; }
  /// Of one of `times` in a row.
  double seconds(int times, const std::function<void()>& work) {
    check(cudaEventRecord(begin_, stream_));
    for (int i = 0; i < times; ++i)
      work();
    check(cudaEventRecord(end_, stream_));
    check(cudaEventSynchronize(end_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds / 1e3 / times;
  }
  /// The best of three, each of a twentieth of a second or more.
  double best_seconds(const std::function<void()>& work) {
    const double once = std::max(seconds(2, work), 1e-7);
    const int times = std::clamp(static_cast<int>(0.05 / once), 2, 2000);
    double best = INFINITY;
    for (int i = 0; i < 3; ++i)
      best = std::min(best, seconds(times, work));
    return best;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// The library's descriptors of one product, given back at the end.
class Matmul {
 public:
  explicit Matmul(const PeerProduct& p) {
    check(cublasLtCreate(&handle));
    check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t a_turn = p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t b_turn = p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &a_turn,
                                         sizeof(a_turn)));
    check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &b_turn,
                                         sizeof(b_turn)));
    layout(a, CUDA_R_16BF, p.a_transposed ? p.depth : p.rows, p.a_transposed ? p.rows : p.depth);
    layout(b, CUDA_R_16BF, p.b_transposed ? p.columns : p.depth,
           p.b_transposed ? p.depth : p.columns);
    layout(c, p.f32_result ? CUDA_R_32F : CUDA_R_16BF, p.rows, p.columns);
    check(cublasLtMatmulPreferenceCreate(&preference));
  }
  ~Matmul() {
    cublasLtMatmulPreferenceDestroy(preference);
    for (cublasLtMatrixLayout_t each : {a, b, c})
      cublasLtMatrixLayoutDestroy(each);
    cublasLtMatmulDescDestroy(operation);
    cublasLtDestroy(handle);
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  std::vector<cublasLtMatmulHeuristicResult_t> ways(std::uint64_t workspace_bytes) {
    constexpr int kMost = 16;
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &workspace_bytes, sizeof(workspace_bytes)));
    std::vector<cublasLtMatmulHeuristicResult_t> found(kMost);
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, c, c, preference, kMost,
                                         found.data(), &count));
    found.resize(static_cast<std::size_t>(count));
    return found;
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

 private:
  static void layout(cublasLtMatrixLayout_t& of, cudaDataType type, std::int64_t rows,
                     std::int64_t columns) {
    check(cublasLtMatrixLayoutCreate(&of, type, static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), rows));
  }
};

template <class Work>
PeerTime guarded(int card, const Work& work) {
  try {
    check(cudaSetDevice(card));
    return {.seconds = work(), .problem = {}};
  } catch (const std::exception& problem) {
    static_cast<void>(cudaGetLastError());
    return {.problem = problem.what()};
  }
}

PeerTime copy(int card, std::int64_t bytes) {
  return guarded(card, [&] {
    CardMemory from(bytes);
    const CardMemory to(bytes);
    from.fill_with_bf16();
    Timer timer;
    return timer.best_seconds([&] {
      check(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice,
                            timer.stream()));
    });
  });
}

PeerTime product(int card, const PeerProduct& p) {
  return guarded(card, [&] {
    constexpr std::int64_t kWorkspace_bytes = std::int64_t{32} << 20;
    CardMemory a(2 * p.rows * p.depth);
    CardMemory b(2 * p.columns * p.depth);
    CardMemory c((p.f32_result ? 4 : 2) * p.rows * p.columns);
    const CardMemory workspace(kWorkspace_bytes);
    a.fill_with_bf16();
    b.fill_with_bf16();
    check(cudaMemset(c.data(), 0, c.bytes()));
    check(cudaDeviceSynchronize());
    Matmul matmul(p);
    Timer timer;
    double best = INFINITY;
    for (const cublasLtMatmulHeuristicResult_t& way :
         matmul.ways(static_cast<std::uint64_t>(kWorkspace_bytes))) {
      if (way.state != CUBLAS_STATUS_SUCCESS) continue;
      const float one = 1;
      const float kept = p.accumulate ? 1 : 0;
      const auto multiply = [&] {
        check(cublasLtMatmul(matmul.handle, matmul.operation, &one, a.data(), matmul.a, b.data(),
                             matmul.b, &kept, c.data(), matmul.c, c.data(), matmul.c, &way.algo,
                             workspace.data(), workspace.bytes(), timer.stream()));
      };
      // A glance at each, so that only those that may be the fastest are timed at length.
      multiply();
      if (timer.seconds(3, multiply) < 1.2 * best)
        best = std::min(best, timer.best_seconds(multiply));
    }
    if (!std::isfinite(best)) throw std::runtime_error("cuBLASLt knows no way");
    return best;
  });
}

PeerMemory memory(int card) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (cudaSetDevice(card) != cudaSuccess ||
      cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) {
    return {};
  }
  return {.free_bytes = static_cast<std::int64_t>(free_bytes),
          .total_bytes = static_cast<std::int64_t>(total_bytes)};
}

constexpr CardPeer kPeer{.copy = copy, .product = product, .memory = memory};

}  // namespace
}  // namespace athanor

const athanor::CardPeer* athanor_card_peer() {
  return &athanor::kPeer;
}
