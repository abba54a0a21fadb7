// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/host_runtime.h"

#include <cstring>
#include <string>

namespace athanor::cuda {

HostRuntime::HostRuntime(std::int64_t memory_bytes, double compute_capability)
    : info_{"Emulated card", "kernels run on the processor", 1},
      memory_bytes_(memory_bytes),
      compute_capability_(compute_capability) {}

void HostRuntime::plan_fault(const PlannedFault& fault) {
  fails_ = true;
  fault_ = fault;
  calls_ = 0;
}

void HostRuntime::call(const char* action) {
  if (fails_ && calls_ >= fault_.calls_before)
    throw fault_error(fault_.fault, action, "planned by a test");
  ++calls_;
}

void HostRuntime::call_outside_of_recordings(const char* action) {
  if (stream_->notes != nullptr)
    throw fault_error(Fault::other, action, "its work is being recorded");
  call(action);
}

Buffer HostRuntime::allocate(std::int64_t bytes) {
  call("take memory");
  if (allocated_bytes_ + bytes > memory_bytes_) {
    throw fault_error(Fault::out_of_memory, "take " + std::to_string(bytes >> 20) + " MiB",
                      "there are " + std::to_string(memory_bytes_ >> 20) + " MiB");
  }
  allocated_bytes_ += bytes;
  return Buffer(bytes);
}

Buffer HostRuntime::allocate_host(const std::filesystem::path& folder, std::int64_t bytes) {
  return Buffer::in_file(folder, bytes);
}

void HostRuntime::zero(std::byte* to, std::int64_t bytes) {
  call("clear memory");
  emulation::give(stream(), [=] { std::memset(to, 0, static_cast<std::size_t>(bytes)); });
}

void HostRuntime::upload(std::byte* to, std::span<const std::byte> from) {
  call_outside_of_recordings("copy to the card");
  std::memcpy(to, from.data(), from.size());
}

void HostRuntime::download(std::span<std::byte> to, const std::byte* from) {
  call_outside_of_recordings("copy from the card");
  std::memcpy(to.data(), from, to.size());
}

void HostRuntime::bring(std::byte* to, const std::byte* host, std::int64_t bytes) {
  call_outside_of_recordings("copy what is offloaded to the card");
  std::memcpy(to, host, static_cast<std::size_t>(bytes));
}

void HostRuntime::take(std::byte* host, const std::byte* from, std::int64_t bytes) {
  call_outside_of_recordings("offload from the card");
  std::memcpy(host, from, static_cast<std::size_t>(bytes));
}

void HostRuntime::await_copies(const std::byte*, std::int64_t) {
  call("run a kernel");
}

class HostRuntime::RecordedWork : public Recording {
 public:
  RecordedWork(HostRuntime& runtime, const std::function<void()>& work) : runtime_(runtime) {
    struct Notes {
      Notes(CUstream_st& to, std::vector<std::function<void()>>& notes) : stream(to) {
        stream.notes = &notes;
      }
      ~Notes() { stream.notes = nullptr; }
      CUstream_st& stream;
    };
    const Notes noting(*runtime.stream_, notes_);
    work();
  }
  void replay() override {
    ++runtime_.replays_;
    for (const std::function<void()>& work : notes_) {
      runtime_.call("run a kernel");
      work();
    }
  }

 private:
  HostRuntime& runtime_;
  std::vector<std::function<void()>> notes_;
};

std::unique_ptr<Recording> HostRuntime::record(const std::function<void()>& work) {
  call("record its work");
  if (!records_) throw fault_error(Fault::other, "record its work", "refused by a test");
  return std::make_unique<RecordedWork>(*this, work);
}

void HostRuntime::wait() {
  call_outside_of_recordings("finish its work");
}

}  // namespace athanor::cuda
