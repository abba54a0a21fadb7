// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensor/bf16.h"

/// Small kernels that keep the contract, each with what it gives.
namespace athanor::cuda {

struct Place {
  unsigned thread[3];
  unsigned block[3];
  unsigned threads[3];
  unsigned blocks[3];
};
inline constexpr unsigned kPlace_blocks[3] = {3, 2, 2};
inline constexpr unsigned kPlace_threads[3] = {8, 4, 3};
/// Of each thread, the blocks one after another.
std::vector<Place> places();

/// What each thread of one block got from each function.
struct WarpResults {
  float indexed;         ///< from lane 7·lane % 32
  float indexed_by_8;    ///< from lane 3 of each 8
  float crossed;         ///< lane xor 5
  float down;            ///< 3 lanes on
  float down_by_8;       ///< within each 8
  float up;              ///< 3 lanes before
  float up_by_16;        ///< within each 16
  double wide;           ///< lane xor 1, 8 bytes
  unsigned ballot;       ///< in > 0
  int any;               ///< in > 1.5
  int all;               ///< in > −1.5
  int any_of_none;       ///< in > 10
  int sum;               ///< of (int)(100·in)
  unsigned sum_of_some;  ///< of the lane numbers of odd lanes, which alone call it
  int count;             ///< of threads with in > 0
  int some;              ///< whether a thread of the block has in > 1.9
  int none;              ///< whether one has in > 10
};
std::vector<WarpResults> warp_results(std::span<const float> in);

/// Block sums of `in`, 128 at a time, by shuffles and static shared memory.
std::vector<float> block_sums(std::span<const float> in);

/// Each 64 of `in` in reverse, through dynamic shared memory.
std::vector<float> reversed(std::span<const float> in);
/// As reversed() but without the barrier.
std::vector<float> reversed_without_barrier(std::span<const float> in);

/// in + 1 of whole tiles of 256, each copied while the one before is used.
std::vector<float> piped(std::span<const float> in);

/// d [16, 16] = a [16, 16] · b [16, 16] by one warp.
std::vector<float> product(std::span<const Bf16> a, std::span<const Bf16> b);
/// d [16, 8] = 1 + a [16, 16] · b [16, 8] with fragments that are read element by element.
std::vector<float> product_by_elements(std::span<const Bf16> a, std::span<const Bf16> b);

struct AtomicResults {
  int sum = 0;
  unsigned unsigned_sum = 0;
  unsigned long long wide_sum = 0;
  float float_sum = 0;
  int most = -1000;
  int least = 1000;
  unsigned swaps = 0;       ///< counted up by compare and swap
  unsigned last_block = 0;  ///< how many blocks found themselves last
  float exchanged = 0;
  int tickets[64] = {};  ///< how often each was drawn
};
/// Two blocks of 32 threads that each add their number and change the rest by it.
AtomicResults atomics();

/// Two halves of a block that count up in turns, by named barriers; gives the final count.
int turns();

/// What 8 bytes of an uninitialised shared float2 hold.
std::vector<float> poisons();

/// `switches` barriers of 256 threads; and a kernel of `blocks` blocks of 256 threads that write
/// once.
void many_barriers(int barriers);
void many_threads(unsigned blocks, float* out);

}  // namespace athanor::cuda
