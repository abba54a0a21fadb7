// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/faults.h"

namespace athanor::cuda {

Error fault_error(Fault fault, const std::string& action, const std::string& detail) {
  const std::string context = "could not " + action + ": " + detail;
  switch (fault) {
    case Fault::out_of_memory:
      return {ErrorKind::io,
              "The card has not enough free memory to " + action +
                  ". Close other programs that use it, or choose a smaller micro-batch, a further "
                  "level of recomputation, or offloading.",
              context};
    case Fault::lost:
      return {ErrorKind::device,
              "The card stopped answering. What was trained up to the last checkpoint is kept. "
              "Restart the program, if that does not help the machine, or choose the processor "
              "instead of the card.",
              context};
    case Fault::no_kernel:
      return {ErrorKind::unsupported,
              "This program was built without kernels for this card. Train on the processor, or "
              "install a build for this card.",
              context};
    case Fault::other:
      break;
  }
  return {ErrorKind::device,
          "The card could not " + action +
              ". Close other programs that use it, or choose the processor instead of the card.",
          context};
}

}  // namespace athanor::cuda
