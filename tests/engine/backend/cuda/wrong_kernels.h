// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Kernels and launches that break the contract, one way each.
namespace athanor::cuda {

struct WrongKernel {
  const char* name;
  void (*run)();
  const char* says;            ///< part of the error's message, with # for each line's number
  const char* site;            ///< another part
  bool out_of_bounds = false;  ///< AddressSanitizer stops it first
};
std::span<const WrongKernel> wrong_kernels();
std::span<const WrongKernel> wrong_warps();

/// Reads where copies were begun and not waited for; then waits.
std::vector<float> read_before_the_copy_lands();

/// Whether AddressSanitizer guards the byte after static and after dynamic shared memory of
/// `dynamic_bytes`, and not the last byte.
bool red_zones_stand(std::size_t dynamic_bytes);

/// A kernel that fails at line known_line() of wrong_kernels.cu.
int fail_at_a_known_line();
int known_line();

/// Throws std::length_error inside of a kernel, from thread 40.
void throw_from_a_kernel();

/// A kernel that is right, after which `out` holds 1 everywhere.
void fill_with_ones(std::span<float> out);

}  // namespace athanor::cuda
