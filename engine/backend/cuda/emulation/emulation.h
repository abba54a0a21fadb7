// SPDX-License-Identifier: GPL-3.0-or-later
// PROVISIONAL: to be replaced.
// cuemu.h - run CUDA kernels as host C++: one fiber per CUDA thread, one block at a time.
#pragma once
#include "engine/tensor/bf16.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>
#include <sys/mman.h>
#if defined(__SANITIZE_ADDRESS__)
#define CUEMU_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define CUEMU_ASAN 0
#endif
#if defined(CUEMU_UCONTEXT) || !defined(__x86_64__)
#define CUEMU_UC 1
#include <ucontext.h>
#else
#define CUEMU_UC 0
extern "C" void cuemu_swap(void** save_sp, void* load_sp);
#endif

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {} };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __constant__ static
#define __launch_bounds__(...)
#define __shared__ CUEMU_ERROR_use_KSHARED_instead   // contract: never the bare keyword
namespace cuemu {
#if defined(__clang__)   // clang 14 has no std::source_location
struct Loc { unsigned l, c; static constexpr Loc current(unsigned l = __builtin_LINE(), unsigned c = __builtin_COLUMN()) { return {l, c}; } unsigned line() const { return l; } unsigned column() const { return c; } };
#else
using Loc = std::source_location;
#endif
enum class Order { Forward, Reverse, Random };
struct Options {
  Order order = Order::Forward; unsigned seed = 1; bool poison = true; bool strict_exit = true;
  size_t stack = CUEMU_ASAN ? 256 * 1024 : 64 * 1024; size_t max_shared = 99 * 1024;  // sm_89 / sm_120
};
inline Options opt;
struct Stats { uint64_t switches = 0, barriers = 0, warpops = 0, blocks = 0, threads = 0; };
inline constinit thread_local Stats stats;
enum State : uint8_t { RUN, WAIT_BAR, WAIT_WARP, DONE };
enum class Op : uint8_t { Shfl, Ballot, Sync, Mma };
struct WarpReq;
using Combine = void (*)(WarpReq* const* lane, uint32_t mask);
struct WarpReq { Op op; uint32_t mask; unsigned line; Combine fn; void* in; void* out; int param; int width; unsigned col = 0; };
struct Copy { void* dst; uint8_t src[16]; int group; };
struct Fiber {
  void* sp = nullptr; char* stk = nullptr; void* fake = nullptr; uint3 tid{}; int idx = 0, lane = 0, warp = 0; State st = DONE;
  unsigned line = 0; const char* file = ""; WarpReq* req = nullptr; std::vector<Copy> cp; int cpgroup = 0;
#if CUEMU_UC
  ucontext_t uc;
#endif
};
struct Warp { uint32_t arrived = 0, alive = 0; WarpReq* req[32] = {}; };
struct SharedVar { const void* tag; char* p; size_t n; };
struct Block {
  std::vector<Fiber> f; std::vector<Warp> w; std::vector<int> next_of, first; int n = 0, alive = 0, at_bar = 0; unsigned bar_line = 0, bar_col = 0;
  Fiber* cur = nullptr; uint3 bid{}; dim3 bdim, gdim; std::vector<SharedVar> sv; char* dyn = nullptr; size_t dynn = 0, stat = 0;
  std::function<void()> body; std::string err; Fiber main; const void* mstk = nullptr; size_t mstkn = 0; std::vector<char*> pool; size_t poolsz = 0;
};
inline constinit thread_local Block* Bp = nullptr;   // constinit: no TLS init guard on each access
[[noreturn]] inline void die(const std::string& m) {
  fprintf(stderr, "cuemu: block (%u,%u,%u) thread %d: %s\n", Bp->bid.x, Bp->bid.y, Bp->bid.z, Bp->cur ? Bp->cur->idx : -1, m.c_str());
  throw std::runtime_error(m);
}
inline void swap_to(Fiber* from, Fiber* to, bool dying = false) {
  stats.switches++;
  Bp->cur = to == &Bp->main ? nullptr : to;
#if CUEMU_ASAN
  const void* bot = to == &Bp->main ? Bp->mstk : to->stk; size_t n = to == &Bp->main ? Bp->mstkn : opt.stack;
  __sanitizer_start_switch_fiber(dying ? nullptr : &from->fake, bot, n);
#endif
  (void)dying;
#if CUEMU_UC
  swapcontext(&from->uc, &to->uc);
#else
  cuemu_swap(&from->sp, to->sp);
#endif
#if CUEMU_ASAN
  __sanitizer_finish_switch_fiber(from->fake, from == &Bp->main ? nullptr : nullptr, nullptr);
#endif
}
inline Fiber* next_runnable(int from) {
  int i = from;
  for (int k = 0; k < Bp->n; k++) { i = Bp->next_of[i]; if (Bp->f[i].st == RUN) return &Bp->f[i]; }
  return nullptr;
}
inline void yield() {
  Fiber* me = Bp->cur; Fiber* nx = next_runnable(me->idx);
  if (nx == me) return;
  swap_to(me, nx ? nx : &Bp->main);
  if (!Bp->err.empty()) throw std::runtime_error("abort");   // unwinds fibers after a failure
}
inline void release_bar() {
  if (Bp->at_bar && Bp->at_bar == Bp->alive) { for (auto& x : Bp->f) if (x.st == WAIT_BAR) x.st = RUN; Bp->at_bar = 0; stats.barriers++; }
}
inline void fiber_main() {
#if CUEMU_ASAN
  const void* b; size_t n; __sanitizer_finish_switch_fiber(nullptr, &b, &n); if (!Bp->mstk) { Bp->mstk = b; Bp->mstkn = n; }
#endif
  Fiber* me = Bp->cur;
  if (Bp->err.empty()) try { Bp->body();
    if (!me->cp.empty()) die("thread exited with cp.async copies never waited for");
    if (opt.strict_exit && Bp->at_bar) die("thread exited while others wait at __syncthreads (line " + std::to_string(Bp->bar_line) + ")");
  } catch (const std::exception& e) { if (Bp->err.empty()) Bp->err = e.what(); }
  me->st = DONE; Bp->alive--; Bp->w[me->warp].alive &= ~(1u << me->lane);
  if (!Bp->err.empty()) for (auto& x : Bp->f) if (x.st != DONE) x.st = RUN;   // wake everyone so they unwind
  if (Bp->err.empty()) release_bar();
  Fiber* nx = next_runnable(me->idx);
  swap_to(me, nx ? nx : &Bp->main, true);
  abort();
}
extern "C" inline void cuemu_entry() { fiber_main(); }
inline void prepare(Fiber& x) {
#if CUEMU_ASAN
  __asan_unpoison_memory_region(x.stk, opt.stack);   // frames of the fiber that died here before
#endif
#if CUEMU_UC
  getcontext(&x.uc); x.uc.uc_stack.ss_sp = x.stk; x.uc.uc_stack.ss_size = opt.stack; x.uc.uc_link = nullptr;
  makecontext(&x.uc, fiber_main, 0);
#else
  void** s = (void**)(x.stk + opt.stack); *--s = nullptr; *--s = (void*)fiber_main; for (int i = 0; i < 6; i++) *--s = nullptr; x.sp = s;
#endif
}
inline void* shared(const void* tag, size_t n) {
  for (auto& v : Bp->sv) if (v.tag == tag) return v.p;
  Bp->stat += n; if (Bp->stat > 48 * 1024 || Bp->stat + Bp->dynn > opt.max_shared) die("too much shared memory");
  char* p = (char*)aligned_alloc(128, (n + 127) / 128 * 128); if (opt.poison) memset(p, 0xFF, n);
#if CUEMU_ASAN
  __asan_poison_memory_region(p + n, (n + 127) / 128 * 128 - n);
#endif
  Bp->sv.push_back({tag, p, n}); return p;
}
inline void run_block() {
  int n = Bp->n; Bp->alive = n; Bp->at_bar = 0; Bp->err.clear(); Bp->stat = 0; Bp->cur = nullptr;
  for (auto& v : Bp->sv) free(v.p);
  Bp->sv.clear();
  if (Bp->dyn) free(Bp->dyn);
  Bp->dyn = (char*)malloc(Bp->dynn ? Bp->dynn : 1); if (opt.poison) memset(Bp->dyn, 0xFF, Bp->dynn);
  Bp->w.assign((n + 31) / 32, Warp{});
  for (int i = 0; i < n; i++) { Fiber& x = Bp->f[i]; x.st = RUN; x.cp.clear(); x.cpgroup = 0; Bp->w[x.warp].alive |= 1u << x.lane; prepare(x); }
  Bp->main.st = RUN; swap_to(&Bp->main, &Bp->f[Bp->first[0]]);
  if (Bp->err.empty() && Bp->alive) {       // nobody runnable: report who is stuck where
    std::string m = "deadlock / divergent barrier:"; int shown = 0;
    for (auto& x : Bp->f) if (x.st != DONE && shown++ < 6) m += " t" + std::to_string(x.idx) + (x.st == WAIT_BAR ? "@bar:" : "@warp:") + std::to_string(x.line);
    Bp->err = m; fprintf(stderr, "cuemu: block (%u,%u,%u): %s (%d of %d threads alive)\n", Bp->bid.x, Bp->bid.y, Bp->bid.z, m.c_str(), Bp->alive, n);
    std::string keep = m; for (auto& x : Bp->f) if (x.st != DONE) x.st = RUN;
    if (Fiber* r = next_runnable(Bp->first[0])) swap_to(&Bp->main, r);
  }
  stats.blocks++; stats.threads += n;
  if (!Bp->err.empty()) { std::string e = Bp->err; Bp->err.clear(); throw std::runtime_error(e); }
}
template <class... P, class... A>
void launch(void (*k)(P...), dim3 grid, dim3 block, size_t shmem, void* /*stream*/, A... args) {
  int n = int(block.x * block.y * block.z);
  if (!Bp) Bp = new Block;   // one per host thread
  if (n < 1 || n > 1024 || !grid.x || grid.y > 65535 || grid.z > 65535) die("bad launch configuration");
  if (shmem > opt.max_shared) die("too much dynamic shared memory");
  if (Bp->poolsz != opt.stack) { Bp->pool.clear(); Bp->poolsz = opt.stack; }
  while ((int)Bp->pool.size() < n) {
    char* p = (char*)mmap(nullptr, opt.stack + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mprotect(p, 4096, PROT_NONE); Bp->pool.push_back(p + 4096);
  }
  Bp->n = n; Bp->bdim = block; Bp->gdim = grid; Bp->dynn = shmem; Bp->f.resize(n); Bp->next_of.resize(n);
  std::vector<int> o(n); for (int i = 0; i < n; i++) o[i] = opt.order == Order::Reverse ? n - 1 - i : i;
  if (opt.order == Order::Random) { std::mt19937 g(opt.seed); std::shuffle(o.begin(), o.end(), g); }
  for (int i = 0; i < n; i++) Bp->next_of[o[i]] = o[(i + 1) % n];
  Bp->first.assign(1, o[0]);
  for (int i = 0; i < n; i++) { Fiber& x = Bp->f[i]; x.idx = i; x.lane = i & 31; x.warp = i >> 5; x.stk = Bp->pool[i];
    x.tid = {i % block.x, i / block.x % block.y, i / (block.x * block.y)}; }
  Bp->body = [=] { k(static_cast<P>(args)...); };
  for (unsigned z = 0; z < grid.z; z++) for (unsigned y = 0; y < grid.y; y++) for (unsigned x = 0; x < grid.x; x++) { Bp->bid = {x, y, z}; run_block(); }
}
inline void warp_collective(WarpReq& r, const Loc& loc) {
  Fiber* me = Bp->cur; Warp& w = Bp->w[me->warp]; r.line = loc.line(); r.col = loc.column();
  if (!(r.mask >> me->lane & 1)) die("lane not in its own warp mask");
  if (r.mask & ~w.alive) die("warp op at line " + std::to_string(r.line) + " names lanes that exited or do not exist");
  w.req[me->lane] = &r; w.arrived |= 1u << me->lane;
  if ((w.arrived & r.mask) != r.mask) { me->st = WAIT_WARP; me->line = r.line; yield(); return; }
  for (int l = 0; l < 32; l++) if (r.mask >> l & 1) { auto* q = w.req[l];
    if (q->op != r.op || q->mask != r.mask || q->line != r.line || q->col != r.col) die("divergent warp op: line " + std::to_string(q->line) + " vs " + std::to_string(r.line)); }
  if (r.fn) r.fn(w.req, r.mask);
  stats.warpops++; w.arrived &= ~r.mask; Fiber* base = &Bp->f[me->warp * 32];
  for (int l = 0; l < 32; l++) if (r.mask >> l & 1) { w.req[l] = nullptr; base[l].st = RUN; }
}
template <class T> T shfl(uint32_t mask, T v, int src, int width, const Loc& loc) {
  static_assert(std::is_trivially_copyable_v<T>); T out = v; int L = Bp->cur->lane, s = src;
  if (s / width != L / width) s = L;
  WarpReq r{Op::Shfl, mask, 0, [](WarpReq* const* q, uint32_t m) { for (int l = 0; l < 32; l++) if (m >> l & 1) {
    int s = q[l]->param; if (!(m >> s & 1)) die("shuffle reads an inactive lane"); *(T*)q[l]->out = *(T*)q[s]->in; } }, &v, &out, s, width};
  warp_collective(r, loc); return out;
}
}  // namespace cuemu
#define threadIdx (cuemu::Bp->cur->tid)
#define blockIdx (cuemu::Bp->bid)
#define blockDim (cuemu::Bp->bdim)
#define gridDim (cuemu::Bp->gdim)
static constexpr int warpSize = 32;
inline void __syncthreads(cuemu::Loc loc = cuemu::Loc::current()) {
  using namespace cuemu; Fiber* me = Bp->cur;
  if (Bp->at_bar == 0) { Bp->bar_line = loc.line(); Bp->bar_col = loc.column(); }
  else if (Bp->bar_line != loc.line() || Bp->bar_col != loc.column()) die("divergent __syncthreads: lines " + std::to_string(Bp->bar_line) + " and " + std::to_string(loc.line()));
  if (opt.strict_exit && Bp->alive != Bp->n) die("__syncthreads after a thread exited");
  Bp->at_bar++; me->st = WAIT_BAR; me->line = loc.line();
  release_bar(); yield();
}
#define CUEMU_L cuemu::Loc loc = cuemu::Loc::current()
template <class T> T __shfl_sync(unsigned m, T v, int s, int w = 32, CUEMU_L) { return cuemu::shfl(m, v, (cuemu::Bp->cur->lane & ~(w - 1)) | (s & (w - 1)), w, loc); }
template <class T> T __shfl_xor_sync(unsigned m, T v, int s, int w = 32, CUEMU_L) { return cuemu::shfl(m, v, cuemu::Bp->cur->lane ^ s, w, loc); }
template <class T> T __shfl_down_sync(unsigned m, T v, unsigned s, int w = 32, CUEMU_L) { return cuemu::shfl(m, v, cuemu::Bp->cur->lane + int(s), w, loc); }
template <class T> T __shfl_up_sync(unsigned m, T v, unsigned s, int w = 32, CUEMU_L) { int l = cuemu::Bp->cur->lane; return cuemu::shfl(m, v, (l & (w - 1)) < int(s) ? l : l - int(s), w, loc); }
inline unsigned __ballot_sync(unsigned m, int p, CUEMU_L) {
  unsigned out = 0; cuemu::WarpReq r{cuemu::Op::Ballot, m, 0, [](cuemu::WarpReq* const* q, uint32_t m) {
    unsigned b = 0; for (int l = 0; l < 32; l++) if ((m >> l & 1) && q[l]->param) b |= 1u << l;
    for (int l = 0; l < 32; l++) if (m >> l & 1) *(unsigned*)q[l]->out = b; }, nullptr, &out, p != 0, 32};
  cuemu::warp_collective(r, loc); return out;
}
inline void __syncwarp(unsigned m = ~0u, CUEMU_L) { cuemu::WarpReq r{cuemu::Op::Sync, m, 0, nullptr, nullptr, nullptr, 0, 32}; cuemu::warp_collective(r, loc); }
template <class T> T atomicAdd(T* p, std::type_identity_t<T> v) { T o = *p; *p = o + v; return o; }
template <class T> T atomicMax(T* p, std::type_identity_t<T> v) { T o = *p; if (v > o) *p = v; return o; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline uint32_t __float_as_uint(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
inline float __uint_as_float(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }
template <class T> T __ldg(const T* p) { return *p; }
using std::max; using std::min;
#define ATHANOR_SHARED(T, name, dims) \
  static char name##_tag_; typedef T name##_ty_ dims; name##_ty_& name = *(name##_ty_*)cuemu::shared(&name##_tag_, sizeof(name##_ty_))
#define ATHANOR_DYNAMIC_SHARED(T, name) T* const name = (T*)cuemu::Bp->dyn
namespace athanor::cuda {
struct LaunchShape { dim3 blocks; dim3 threads; std::size_t shared_bytes = 0; };
template <class... P, class... A> void launch(void (*k)(P...), const LaunchShape& s, Stream stream, const A&... args) { cuemu::launch(k, s.blocks, s.threads, s.shared_bytes, stream, args...); }
inline float to_float(Bf16 x) { return widened(x); }
inline Bf16 to_bf16(float x) { return nearest_bf16(x); }
inline std::uint32_t pack_bf16(float low, float high) { return std::uint32_t(nearest_bf16(low).bits) | std::uint32_t(nearest_bf16(high).bits) << 16; }
inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], CUEMU_L) {
  struct In { const uint32_t *a, *b; } in{a, b};
  cuemu::WarpReq r{cuemu::Op::Mma, ~0u, 0, [](cuemu::WarpReq* const* q, uint32_t) {
    static thread_local float A[16][16], Bm[16][8]; auto lo = [](uint32_t u) { return __uint_as_float(u << 16); }; auto hi = [](uint32_t u) { return __uint_as_float(u & 0xffff0000u); };
    for (int l = 0; l < 32; l++) { int g = l >> 2, t = (l & 3) * 2; auto& x = *(In*)q[l]->in;
      for (int i = 0; i < 4; i++) { int row = g + (i & 1) * 8, c = t + (i >> 1) * 8; A[row][c] = lo(x.a[i]); A[row][c + 1] = hi(x.a[i]); }
      for (int i = 0; i < 2; i++) { Bm[t + i * 8][g] = lo(x.b[i]); Bm[t + i * 8 + 1][g] = hi(x.b[i]); } }
    float D[16][8] = {};
    for (int i = 0; i < 16; i++) for (int k = 0; k < 16; k++) for (int j = 0; j < 8; j++) D[i][j] += A[i][k] * Bm[k][j];
    for (int l = 0; l < 32; l++) { int g = l >> 2, t = (l & 3) * 2; float* d = (float*)q[l]->out;
      for (int i = 0; i < 4; i++) d[i] += D[g + (i >> 1) * 8][t + (i & 1)]; } }, &in, d, 0, 32};
  cuemu::warp_collective(r, loc);
}
inline void copy_async_16(void* s, const void* g, bool pred = true) {   // deferred until the wait: reading too early yields poison
  cuemu::Copy c; c.dst = s; c.group = cuemu::Bp->cur->cpgroup; if (pred) memcpy(c.src, g, 16); else memset(c.src, 0, 16);
  if ((uintptr_t)s % 16 || (pred && (uintptr_t)g % 16)) cuemu::die("cp.async: misaligned");
  if (cuemu::opt.poison) memset(s, 0xFF, 16);
  cuemu::Bp->cur->cp.push_back(c);
}
inline void copy_async_commit() { cuemu::Bp->cur->cpgroup++; }
template <int N> void copy_async_wait() { auto* f = cuemu::Bp->cur; std::vector<cuemu::Copy> keep;
  for (auto& c : f->cp) { if (c.group < f->cpgroup - N) memcpy(c.dst, c.src, 16); else keep.push_back(c); } f->cp.swap(keep); }
template <bool T> void load_matrices_any(std::uint32_t (&to)[4], const void* row, cuemu::Loc loc) {
  if ((uintptr_t)row % 16) cuemu::die("ldmatrix: misaligned");
  cuemu::WarpReq r{cuemu::Op::Mma, ~0u, 0, [](cuemu::WarpReq* const* q, uint32_t) {
    for (int l = 0; l < 32; l++) for (int m = 0; m < 4; m++) { uint16_t v[2];
      for (int j = 0; j < 2; j++) { int rr = T ? 2 * (l % 4) + j : l / 4, cc = T ? l / 4 : 2 * (l % 4) + j; memcpy(&v[j], (const char*)q[m * 8 + rr]->in + 2 * cc, 2); }
      ((uint32_t*)q[l]->out)[m] = uint32_t(v[0]) | uint32_t(v[1]) << 16; } }, const_cast<void*>(row), to, 0, 32};
  cuemu::warp_collective(r, loc); }
inline void load_matrices(std::uint32_t (&to)[4], const void* row, CUEMU_L) { load_matrices_any<false>(to, row, loc); }
inline void load_matrices_transposed(std::uint32_t (&to)[4], const void* row, CUEMU_L) { load_matrices_any<true>(to, row, loc); }
}  // namespace athanor::cuda
