// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/weight_source.h"

#include <algorithm>

#include "engine/tensor/bf16.h"

namespace athanor {

DType CheckpointWeights::type_in(const SafetensorsFile& file) {
  const std::vector<NamedTensor>& tensors = file.tensors();
  const bool bf16 = !tensors.empty() && tensors.front().tensor.dtype == DType::bf16;
  return bf16 ? DType::bf16 : DType::f32;
}

void CheckpointWeights::read(int parameter, std::int64_t first, std::span<float> to) const {
  const Tensor& tensor = tensors_[static_cast<std::size_t>(parameter)];
  const auto begin = static_cast<std::size_t>(first);
  if (tensor.dtype == DType::bf16) {
    std::ranges::transform(tensor.span<const Bf16>().subspan(begin, to.size()), to.begin(),
                           widened);
  } else {
    std::ranges::copy(tensor.span<const float>().subspan(begin, to.size()), to.begin());
  }
}

}  // namespace athanor
