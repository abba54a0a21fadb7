// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/card_runtime.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "engine/backend/cuda/check.h"
#include "engine/backend/cuda/faults.h"
#include "engine/base/machine.h"

namespace athanor::cuda {
namespace {

constexpr double kGibibyte = 1 << 30;

/// An event of the runtime, without the time it happens.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "make an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream stream) { check(cudaEventRecord(event_, stream), "mark a moment"); }
  void hold_back(Stream stream) { check(cudaStreamWaitEvent(stream, event_, 0), "order its work"); }

 private:
  cudaEvent_t event_ = nullptr;
};

class StreamOwner {
 public:
  StreamOwner() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
  }
  ~StreamOwner() { cudaStreamDestroy(stream_); }
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;

  Stream get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

constexpr const char* kRecord = "record its work";

/// Collects what a stream is given instead of doing it, until end() or out of scope.
class Capture {
 public:
  explicit Capture(Stream stream) : stream_(stream) {
    // What other threads ask the card meanwhile does not disturb it.
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), kRecord);
  }
  ~Capture() {
    cudaGraph_t graph = graph_;
    if (open_) static_cast<void>(cudaStreamEndCapture(stream_, &graph));
    if (graph != nullptr) cudaGraphDestroy(graph);
    static_cast<void>(cudaGetLastError());
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaGraph_t end() {
    open_ = false;
    check(cudaStreamEndCapture(stream_, &graph_), kRecord);
    return graph_;
  }

 private:
  Stream stream_;
  bool open_ = true;
  cudaGraph_t graph_ = nullptr;
};

/// A graph as the card runs it.
class ExecutableGraph {
 public:
  explicit ExecutableGraph(cudaGraph_t graph) {
    check(cudaGraphInstantiate(&graph_, graph, 0), kRecord);
  }
  ~ExecutableGraph() {
    static_cast<void>(cudaGraphExecDestroy(graph_));
    static_cast<void>(cudaGetLastError());
  }
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;

  /// Brings it to the card, so that the first launch takes no longer than the others.
  void upload(Stream stream) { check(cudaGraphUpload(graph_, stream), kRecord); }
  void launch(Stream stream) { check(cudaGraphLaunch(graph_, stream), "repeat recorded work"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

void free_on_card(std::byte* data, std::int64_t) {
  // A lost card has nothing left to give back.
  static_cast<void>(cudaFree(data));
  static_cast<void>(cudaGetLastError());
}

void free_pinned(std::byte* data, std::int64_t) {
  static_cast<void>(cudaFreeHost(data));
  static_cast<void>(cudaGetLastError());
}

/// Seconds in which the card clears `bytes` from `first` on.
double clearing_seconds(std::byte* first, std::int64_t bytes, Stream stream) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "make an event");
  check(cudaEventCreate(&end), "make an event");
  check(cudaEventRecord(begin, stream), "mark a moment");
  check(cudaMemsetAsync(first, 0, static_cast<std::size_t>(bytes), stream), "clear memory");
  check(cudaEventRecord(end, stream), "mark a moment");
  check(cudaEventSynchronize(end), "clear memory");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "read a clock");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds / 1e3;
}

/// Some drivers give memory of the machine when the card's is full; what lies there is many times
/// slower than the rest.
void check_resident(std::byte* data, std::int64_t bytes, Stream stream) {
  constexpr std::int64_t kPiece_bytes = std::int64_t{256} << 20;
  constexpr double kSlower = 4;
  constexpr int kTimes = 8;
  static_cast<void>(clearing_seconds(data, bytes, stream));
  std::vector<double> seconds;
  for (std::int64_t first = 0; first + kPiece_bytes <= bytes; first += kPiece_bytes)
    seconds.push_back(clearing_seconds(data + first, kPiece_bytes, stream));
  if (seconds.size() < 2) return;
  // Other work on the card, or a clock that still rises, makes a piece slow once; memory that lies
  // elsewhere is slow every time.
  for (int time = 1; time < kTimes; ++time) {
    const double least = *std::ranges::min_element(seconds);
    for (std::size_t piece = 0; piece < seconds.size(); ++piece) {
      if (seconds[piece] <= kSlower * least) continue;
      std::byte* first = data + static_cast<std::int64_t>(piece) * kPiece_bytes;
      seconds[piece] = std::min(seconds[piece], clearing_seconds(first, kPiece_bytes, stream));
    }
  }
  const auto [least, most] = std::ranges::minmax_element(seconds);
  if (*most > kSlower * *least) {
    throw fault_error(Fault::out_of_memory, "keep all that is planned in its own memory",
                      fmt::format("part of it is cleared at {:.0f} GB/s, part at {:.0f} GB/s",
                                  kPiece_bytes / *least / 1e9, kPiece_bytes / *most / 1e9));
  }
}

class CardRuntime : public Runtime {
 public:
  explicit CardRuntime(int index) : card_(index) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "tell what it is");
    info_ = {.name = properties.name,
             .detail = fmt::format("compute capability {}.{}, {:.1f} GiB, {} multiprocessors",
                                   properties.major, properties.minor,
                                   static_cast<double>(properties.totalGlobalMem) / kGibibyte,
                                   properties.multiProcessorCount),
             .threads = properties.multiProcessorCount};
    constexpr double kMinor = 0.1;
    compute_capability_ = properties.major + kMinor * properties.minor;
  }

  const DeviceInfo& device() const override { return info_; }
  double compute_capability() const override { return compute_capability_; }
  Stream stream() const override {
    card_.select();
    return compute_.get();
  }

  Buffer allocate(std::int64_t bytes) override;
  Buffer allocate_host(const std::filesystem::path& folder, std::int64_t bytes) override;
  void zero(std::byte* to, std::int64_t bytes) override {
    check(cudaMemsetAsync(to, 0, static_cast<std::size_t>(bytes), stream()), "clear memory");
  }
  void upload(std::byte* to, std::span<const std::byte> from) override {
    check(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream()),
          "copy to the card");
    // Some systems read memory that is not pinned only when the copy's turn comes.
    check(cudaStreamSynchronize(compute_.get()), "copy to the card");
  }
  void download(std::span<std::byte> to, const std::byte* from) override {
    check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream()),
          "copy from the card");
    check(cudaStreamSynchronize(compute_.get()), "finish its work");
  }
  void bring(std::byte* to, const std::byte* host, std::int64_t bytes) override {
    copy(to, host, bytes, cudaMemcpyHostToDevice, to);
  }
  void take(std::byte* host, const std::byte* from, std::int64_t bytes) override {
    copy(host, from, bytes, cudaMemcpyDeviceToHost, from);
  }
  void await_copies(const std::byte* first, std::int64_t bytes) override;
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return std::make_unique<RecordedWork>(*this, work);
  }
  void wait() override {
    check(cudaStreamSynchronize(stream()), "finish its work");
    check(cudaStreamSynchronize(copies_.get()), "finish its copies");
    for (Copy& copy : pending_)
      copy.bytes = 0;
  }

 private:
  /// Made before all else of a card: streams and events belong to the card that is selected.
  class Selection {
   public:
    explicit Selection(int index) : index_(index) { select(); }
    void select() const { check(cudaSetDevice(index_), "begin"); }

   private:
    int index_;
  };

  /// A copy that the compute stream has not waited for; 0 bytes: none.
  struct Copy {
    const std::byte* first = nullptr;  ///< on the card
    std::int64_t bytes = 0;
    Event done;
  };

  /// Copies go beside the stream, where a graph knows nothing of them: it comes after them all.
  class RecordedWork : public Recording {
   public:
    RecordedWork(CardRuntime& runtime, const std::function<void()>& work) : runtime_(runtime) {
      runtime.await_all_copies();
      Capture capture(runtime.stream());
      work();
      graph_.emplace(capture.end());
      graph_->upload(runtime.stream());
    }
    void replay() override {
      runtime_.await_all_copies();
      graph_->launch(runtime_.stream());
    }

   private:
    CardRuntime& runtime_;
    std::optional<ExecutableGraph> graph_;
  };

  void copy(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind,
            const std::byte* on_card);
  void await_all_copies();
  void await(Copy& copy);

  Selection card_;
  DeviceInfo info_;
  double compute_capability_ = 0;
  StreamOwner compute_;
  StreamOwner copies_;
  Event before_copy_;
  std::array<Copy, 16> pending_;
  std::size_t next_ = 0;
};

Buffer CardRuntime::allocate(std::int64_t bytes) {
  card_.select();
  void* data = nullptr;
  const cudaError_t result =
      cudaMalloc(&data, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
  if (result != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    static_cast<void>(cudaMemGetInfo(&free_bytes, &total_bytes));
    const std::string action = fmt::format(
        "take the {:.2f} GiB that are planned: {:.2f} of {:.2f} GiB are free",
        static_cast<double>(bytes) / kGibibyte, static_cast<double>(free_bytes) / kGibibyte,
        static_cast<double>(total_bytes) / kGibibyte);
    check(result, action.c_str());
  }
  Buffer buffer(static_cast<std::byte*>(data), bytes, free_on_card);
  check_resident(buffer.data(), bytes, stream());
  return buffer;
}

Buffer CardRuntime::allocate_host(const std::filesystem::path& folder, std::int64_t bytes) {
  card_.select();
  // What is pinned is lost to all other programs, and not every system refuses in time.
  if (bytes > available_memory_bytes() / 2) return Buffer::in_file(folder, bytes);
  void* data = nullptr;
  if (cudaHostAlloc(&data, static_cast<std::size_t>(bytes), cudaHostAllocDefault) != cudaSuccess) {
    // Systems limit how much may be pinned: some at half a gibibyte.
    static_cast<void>(cudaGetLastError());
    return Buffer::in_file(folder, bytes);
  }
  std::memset(data, 0, static_cast<std::size_t>(bytes));
  return {static_cast<std::byte*>(data), bytes, free_pinned};
}

void CardRuntime::copy(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind,
                       const std::byte* on_card) {
  // The card may still work on what is overwritten or taken.
  before_copy_.record(stream());
  before_copy_.hold_back(copies_.get());
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, copies_.get()),
        "copy what is offloaded");
  Copy& copy = pending_[next_];
  if (copy.bytes > 0) copy.done.hold_back(compute_.get());
  next_ = (next_ + 1) % pending_.size();
  copy.first = on_card;
  copy.bytes = bytes;
  copy.done.record(copies_.get());
}

void CardRuntime::await_copies(const std::byte* first, std::int64_t bytes) {
  for (Copy& copy : pending_) {
    if (copy.first < first + bytes && first < copy.first + copy.bytes) await(copy);
  }
}

void CardRuntime::await_all_copies() {
  for (Copy& copy : pending_)
    await(copy);
}

void CardRuntime::await(Copy& copy) {
  if (copy.bytes == 0) return;
  copy.done.hold_back(stream());
  copy.bytes = 0;
}

}  // namespace

std::unique_ptr<Runtime> make_card_runtime(int index) {
  return std::make_unique<CardRuntime>(index);
}

}  // namespace athanor::cuda
