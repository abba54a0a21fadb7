// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/matrices.h"

#include <bit>
#include <cstring>

#include "engine/backend/cuda/emulation/block.h"
#include "engine/backend/cuda/emulation/sanitizers.h"

namespace athanor::cuda {
namespace emulation {
namespace {

constexpr std::uint32_t kAll_lanes = ~std::uint32_t{0};
constexpr int kRows = 16;
constexpr int kInner = 16;
constexpr int kColumns = 8;
constexpr std::size_t kRow_bytes = 16;

float low(std::uint32_t pair) {
  return std::bit_cast<float>(pair << 16);
}
float high(std::uint32_t pair) {
  return std::bit_cast<float>(pair & 0xFFFF0000U);
}

struct MmaOperands {
  const std::uint32_t* a;
  const std::uint32_t* b;
};

/// The fragments' layouts are figures of the PTX ISA, section 9.7.14, "mma.m16n8k16".
void combine_mma(const WarpRequest* const* lanes, std::uint32_t) {
  float a[kRows][kInner];
  float b[kInner][kColumns];
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto& in = *static_cast<const MmaOperands*>(lanes[lane]->in);
    const int group = lane / 4;
    const int pair = lane % 4 * 2;
    for (int i = 0; i < 4; ++i) {
      float* const to = &a[group + i % 2 * 8][pair + i / 2 * 8];
      to[0] = low(in.a[i]);
      to[1] = high(in.a[i]);
    }
    for (int i = 0; i < 2; ++i) {
      b[pair + i * 8][group] = low(in.b[i]);
      b[pair + i * 8 + 1][group] = high(in.b[i]);
    }
  }
  float d[kRows][kColumns] = {};
  for (int row = 0; row < kRows; ++row) {
    for (int inner = 0; inner < kInner; ++inner) {
      for (int column = 0; column < kColumns; ++column)
        d[row][column] += a[row][inner] * b[inner][column];
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    auto* const out = static_cast<float*>(lanes[lane]->out);
    for (int i = 0; i < 4; ++i)
      out[i] += d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
  }
}

template <bool kTransposed>
void combine_load(const WarpRequest* const* lanes, std::uint32_t) {
  for (int lane = 0; lane < kLanes; ++lane) {
    auto* const out = static_cast<std::uint32_t*>(lanes[lane]->out);
    for (int matrix = 0; matrix < 4; ++matrix) {
      std::uint32_t pair = 0;
      for (int i = 0; i < 2; ++i) {
        const int row = kTransposed ? lane % 4 * 2 + i : lane / 4;
        const int column = kTransposed ? lane / 4 : lane % 4 * 2 + i;
        std::uint16_t element = 0;
        std::memcpy(&element,
                    static_cast<const std::uint16_t*>(lanes[matrix * 8 + row]->in) + column,
                    sizeof(element));
        pair |= std::uint32_t{element} << (16 * i);
      }
      out[matrix] = pair;
    }
  }
}

constexpr WarpOperation kMma{"mma_bf16", &combine_mma};
constexpr WarpOperation kLoad{"load_matrices", &combine_load<false>};
constexpr WarpOperation kLoad_transposed{"load_matrices_transposed", &combine_load<true>};

void load(const WarpOperation& operation, std::uint32_t* to, const void* row,
          const CallSite& site) {
  Block& block = Block::running();
  if (reinterpret_cast<std::uintptr_t>(row) % kRow_bytes != 0) {
    block.fail(site, std::string(operation.name) + " of a misaligned row");
  }
  if (!block.shared().holds(row, kRow_bytes)) {
    block.fail(site, std::string(operation.name) + " of a row outside of shared memory");
  }
  note_read(row, kRow_bytes);
  block.warp_collective(
      {.operation = &operation, .mask = kAll_lanes, .site = site, .in = row, .out = to});
}

}  // namespace

void copy_async_wait(int pending, const CallSite& site) {
  Block::running().copy_async_wait(pending, site);
}

}  // namespace emulation

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              emulation::CallSite site) {
  const emulation::MmaOperands in{a, b};
  emulation::Block::running().warp_collective({.operation = &emulation::kMma,
                                               .mask = emulation::kAll_lanes,
                                               .site = site,
                                               .in = &in,
                                               .out = d});
}

void load_matrices(std::uint32_t (&to)[4], const void* shared_row, emulation::CallSite site) {
  emulation::load(emulation::kLoad, to, shared_row, site);
}

void load_matrices_transposed(std::uint32_t (&to)[4], const void* shared_row,
                              emulation::CallSite site) {
  emulation::load(emulation::kLoad_transposed, to, shared_row, site);
}

void copy_async_16(void* shared, const void* global, bool present, emulation::CallSite site) {
  emulation::Block::running().copy_async(shared, global, present, site);
}

void copy_async_commit() {
  emulation::Block::running().copy_async_commit();
}

void named_barrier(int id, int threads, emulation::CallSite site) {
  emulation::Block::running().named_barrier(id, threads, site);
}

}  // namespace athanor::cuda
