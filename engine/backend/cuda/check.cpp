// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/check.h"

#include "engine/backend/cuda/faults.h"

namespace athanor::cuda {
namespace {

Fault fault_of(cudaError_t result) {
  switch (result) {
    case cudaErrorMemoryAllocation:
      return Fault::out_of_memory;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
      return Fault::no_kernel;
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorUnknown:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorMisalignedAddress:
    case cudaErrorECCUncorrectable:
    case cudaErrorContextIsDestroyed:
      return Fault::lost;
    default:
      return Fault::other;
  }
}

}  // namespace

void check(cudaError_t result, const char* action) {
  if (result == cudaSuccess) return;
  // The next launch must not be blamed for it.
  static_cast<void>(cudaGetLastError());
  throw fault_error(fault_of(result), action,
                    std::string(cudaGetErrorName(result)) + ", " + cudaGetErrorString(result));
}

}  // namespace athanor::cuda
