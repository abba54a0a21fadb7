// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/cuda/wrong_kernels.h"

#include <array>
#include <stdexcept>

#include "engine/backend/cuda/device.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace athanor::cuda {
namespace {

constexpr unsigned kThreads = 64;

__global__ void diverge_at_barriers() {
  // NOLINTNEXTLINE(bugprone-branch-clone): two barriers on purpose
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void write_at_a_known_line(int* line) {
  ATHANOR_DYNAMIC_SHARED(float, none);
  *line = static_cast<int>(none[0]);
}
constexpr int kKnown_line = __LINE__ - 3;

__global__ void leave_before_a_barrier() {
  if (threadIdx.x >= 40) return;
  __syncthreads();
}

__global__ void skip_a_barrier() {
  ATHANOR_SHARED(float, parts, [64]);
  if (threadIdx.x != 5) __syncthreads();
  parts[threadIdx.x] = 1;
  // Lanes of one warp wait here, those of the other at the barrier.
  if (threadIdx.x == 5) __syncwarp();
}

__global__ void write_past_static() {
  ATHANOR_SHARED(float, parts, [64]);
  ATHANOR_SHARED(float, others, [64]);
  float* const to = parts;
  others[threadIdx.x] = 0;
  to[threadIdx.x + 1] = 1;
}

__global__ void write_before_static() {
  ATHANOR_SHARED(float, parts, [64]);
  float* const to = parts;
  to[static_cast<int>(threadIdx.x) - 1] = 1;
}

__global__ void write_past_dynamic() {
  ATHANOR_DYNAMIC_SHARED(float, parts);
  parts[threadIdx.x + 1] = 1;
}

__global__ void write_before_dynamic() {
  ATHANOR_DYNAMIC_SHARED(float, parts);
  parts[static_cast<int>(threadIdx.x) - 2] = 1;
}

__global__ void use_no_dynamic() {
  ATHANOR_DYNAMIC_SHARED(float, parts);
  parts[threadIdx.x] = 1;
}

__global__ void have_too_much_static() {
  ATHANOR_SHARED(float, first, [6 * 1024]);
  ATHANOR_SHARED(float, second, [6 * 1024]);
  ATHANOR_SHARED(float, third, [1]);
  first[0] = second[0] = third[0] = 1;
}

__global__ void have_too_much_together() {
  ATHANOR_SHARED(float, tile, [10 * 1024]);
  tile[threadIdx.x] = 1;
}

template <int kTo, int kFrom>
__global__ void copy_misaligned(const float* from) {
  ATHANOR_SHARED(float, to, [64 * 4 + 4]);
  copy_async_16(&to[threadIdx.x * 4 + kTo], from + threadIdx.x * 4 + kFrom);
  copy_async_commit();
  copy_async_wait<0>();
}

__global__ void copy_outside(const float* from) {
  ATHANOR_SHARED(float, to, [63 * 4]);
  copy_async_16(to + threadIdx.x * 4, from);
  copy_async_commit();
  copy_async_wait<0>();
}

__global__ void copy_and_leave(const float* from) {
  ATHANOR_SHARED(float, to, [64 * 4]);
  copy_async_16(&to[threadIdx.x * 4], from);
  copy_async_commit();
  if (threadIdx.x != 63) copy_async_wait<0>();
}

__global__ void copy_without_commit(const float* from) {
  ATHANOR_SHARED(float, to, [64 * 4]);
  copy_async_16(&to[threadIdx.x * 4], from);
  copy_async_wait<0>();
}

__global__ void write_under_a_copy(const float* from) {
  ATHANOR_SHARED(float, to, [64 * 4]);
  copy_async_16(&to[threadIdx.x * 4], from);
  copy_async_commit();
  to[threadIdx.x * 4 + 1] = 3;
  copy_async_wait<0>();
}

__global__ void nothing() {}

__global__ void launch_another() {
  launch(nothing, {.blocks = 1, .threads = 32}, nullptr);
}

__global__ void number_a_barrier(int id, int threads) {
  named_barrier(id, threads);
}

__global__ void enter_by_parts() {
  if (threadIdx.x % 32 < 16) named_barrier(1, 32);
}

__global__ void enter_unequally() {
  named_barrier(1, threadIdx.x < 32 ? 64 : 96);
}

__global__ void read_early(const float* from, float* out) {
  ATHANOR_SHARED(float, to, [32 * 4]);
  copy_async_16(&to[threadIdx.x * 4], from + threadIdx.x * 4);
  copy_async_commit();
  out[threadIdx.x] = to[threadIdx.x * 4];
  copy_async_wait<0>();
  out[32 + threadIdx.x] = to[threadIdx.x * 4];
}

__global__ void look_at_red_zones(std::size_t dynamic_bytes, int* out) {
  ATHANOR_SHARED(unsigned char, odd, [13]);
  ATHANOR_DYNAMIC_SHARED(unsigned char, dynamic);
#ifdef __SANITIZE_ADDRESS__
  const auto guarded = [](const unsigned char* address) {
    return __asan_address_is_poisoned(address) != 0;
  };
  *out = guarded(odd + 13) && guarded(dynamic + dynamic_bytes) && !guarded(odd + 12) &&
                 !guarded(dynamic + dynamic_bytes - 1) && guarded(odd - 1) && guarded(dynamic - 1)
             ? 1
             : 0;
#else
  static_cast<void>(odd);
  static_cast<void>(dynamic);
  *out = dynamic_bytes == 0 ? 1 : 0;
#endif
}

__global__ void throw_late() {
  __syncthreads();
  if (threadIdx.x == 40) throw std::length_error("thrown by thread 40");
  __syncthreads();
}

__global__ void write_ones(float* out) {
  ATHANOR_SHARED(float, ones, [64]);
  ones[63 - threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = ones[threadIdx.x];
}

alignas(16) const std::array<float, 512> source{};

template <class Kernel, class... Arguments>
void run(Kernel kernel, const Arguments&... arguments) {
  launch(kernel, {.blocks = 2, .threads = kThreads}, nullptr, arguments...);
}

void run_shape(dim3 blocks, dim3 threads, std::size_t shared_bytes = 0) {
  launch(nothing, {.blocks = blocks, .threads = threads, .shared_bytes = shared_bytes}, nullptr);
}

// Longer than a name, the lines below would not be one a case.
// clang-format off
constexpr WrongKernel kWrong[] = {
    {"divergent barrier", [] { run(diverge_at_barriers); }, "a divergent barrier", "wrong_kernels.cu:#"},
    {"barrier after exit", [] { run(leave_before_a_barrier); }, "__syncthreads", "wrong_kernels.cu:#"},
    {"barrier not reached", [] { run(skip_a_barrier); }, "nobody can go on: threads 0-4, 6-63 wait at __syncthreads (wrong_kernels.cu:#); thread 5 waits at __syncwarp (wrong_kernels.cu:#) for lanes 0-4, 6-31", "thread 0"},
    {"past static", [] { run(write_past_static); }, "4 bytes were written past the end of the shared variable \"parts\" (wrong_kernels.cu:#)", "block (0, 0, 0)", true},
    {"before static", [] { run(write_before_static); }, "4 bytes were written before its first shared variable", "block (0, 0, 0)", true},
    {"past dynamic", [] { launch(write_past_dynamic, {1, kThreads, 256}, nullptr); }, "4 bytes were written past the end of its dynamic shared memory of 256 bytes", "block (0, 0, 0)", true},
    {"before dynamic", [] { launch(write_before_dynamic, {1, kThreads, 256}, nullptr); }, "8 bytes were written before its dynamic shared memory", "block (0, 0, 0)", true},
    {"no dynamic", [] { run(use_no_dynamic); }, "no dynamic shared memory", "wrong_kernels.cu:#"},
    {"too much static", [] { run(have_too_much_static); }, "too much shared memory: with \"third\" the block has 49156 bytes of static shared memory; the limit is 49152", "wrong_kernels.cu:#"},
    {"too much together", [] { launch(have_too_much_together, {1, kThreads, 60 * 1024}, nullptr); }, "the block has 40960 bytes of static and 61440 of dynamic shared memory; the limit is 101376", "wrong_kernels.cu:#"},
    {"too much dynamic", [] { run_shape(1, 32, 99 * 1024 + 1); }, "101377 bytes of dynamic shared memory; the limit is 101376", "A launch is wrong at wrong_kernels.cu:#"},
    {"copy to misaligned", [] { run(copy_misaligned<1, 0>, source.data()); }, "copy_async_16 to a misaligned address", "wrong_kernels.cu:#"},
    {"copy from misaligned", [] { run(copy_misaligned<0, 2>, source.data()); }, "copy_async_16 from a misaligned address", "wrong_kernels.cu:#"},
    {"copy outside", [] { run(copy_outside, source.data()); }, "thread 63: copy_async_16 to outside of shared memory", "wrong_kernels.cu:#"},
    {"copy not waited for", [] { run(copy_and_leave, source.data()); }, "thread 63: the thread leaves the kernel without copy_async_wait", "wrong_kernels.cu:#"},
    {"copy not committed", [] { run(copy_without_commit, source.data()); }, "without copy_async_wait", "wrong_kernels.cu:#"},
    {"written under a copy", [] { run(write_under_a_copy, source.data()); }, "a copy that began at wrong_kernels.cu:# was on its way", "wrong_kernels.cu:#"},
    {"launch in a kernel", [] { run(launch_another); }, "a kernel launches another", "wrong_kernels.cu:#"},
    {"named barrier 0", [] { run(number_a_barrier, 0, 64); }, "has the id 0", "wrong_kernels.cu:#"},
    {"named barrier 16", [] { run(number_a_barrier, 16, 64); }, "has the id 16", "wrong_kernels.cu:#"},
    {"named barrier of 40", [] { run(number_a_barrier, 1, 40); }, "of 40 threads", "wrong_kernels.cu:#"},
    {"named barrier of 96", [] { run(number_a_barrier, 1, 96); }, "of 96 threads", "wrong_kernels.cu:#"},
    {"named barrier by parts", [] { run(enter_by_parts); }, "by parts of warps", "wrong_kernels.cu:#"},
    {"named barrier unequal", [] { launch(enter_unequally, {1, 96}, nullptr); }, "named_barrier 1 is of", "wrong_kernels.cu:#"},
    {"0 threads", [] { run_shape(1, dim3(32, 0)); }, "a block has 0 threads", "A launch is wrong at wrong_kernels.cu:#"},
    {"1056 threads", [] { run_shape(1, 1056); }, "1056 threads; the limit is 1024", "A launch is wrong at wrong_kernels.cu:#"},
    {"1088 threads of two sizes", [] { run_shape(1, dim3(32, 34)); }, "1088 threads; the limit is 1024", "A launch is wrong at wrong_kernels.cu:#"},
    {"too deep", [] { run_shape(1, dim3(1, 1, 128)); }, "128 threads; the limit", "A launch is wrong at wrong_kernels.cu:#"},
    {"40 threads", [] { run_shape(1, 40); }, "40 threads, which is not whole warps", "A launch is wrong at wrong_kernels.cu:#"},
    {"0 blocks", [] { run_shape(dim3(1, 0), 32); }, "the grid has 0 blocks", "A launch is wrong at wrong_kernels.cu:#"},
    {"65536 blocks in y", [] { run_shape(dim3(1, 65536), 32); }, "over CUDA's limits", "(1, 65536, 1)"},
    {"2^31 blocks in x", [] { run_shape(dim3(0x80000000U), 32); }, "over CUDA's limits", "(2147483648, 1, 1)"},
};
// clang-format on

}  // namespace

std::span<const WrongKernel> wrong_kernels() {
  return kWrong;
}

std::vector<float> read_before_the_copy_lands() {
  alignas(16) std::array<float, 128> from{};
  from.fill(2);
  std::vector<float> out(64);
  launch(read_early, {.blocks = 1, .threads = 32}, nullptr, from.data(), out.data());
  return out;
}

bool red_zones_stand(std::size_t dynamic_bytes) {
  int stand = 0;
  launch(look_at_red_zones, {1, 32, dynamic_bytes}, nullptr, dynamic_bytes, &stand);
  return stand != 0;
}

int fail_at_a_known_line() {
  int line = 0;
  launch(write_at_a_known_line, {1, 32}, nullptr, &line);
  return line;
}
int known_line() {
  return kKnown_line;
}

void throw_from_a_kernel() {
  run(throw_late);
}

void fill_with_ones(std::span<float> out) {
  launch(write_ones, {.blocks = 1, .threads = static_cast<unsigned>(out.size())}, nullptr,
         out.data());
}

}  // namespace athanor::cuda
