// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/arguments.h"
#include "engine/backend/cuda/cuda_backend_class.h"
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/newton_schulz.h"
#include "engine/base/error.h"

namespace athanor::cuda {

bool CudaBackend::supports(Operation operation, std::int64_t head_dim) const {
  switch (operation) {
    case Operation::attention:
    case Operation::attention_backward:
    case Operation::decode_attention:
      return attention_supports(head_dim);
    case Operation::qk_norm:
    case Operation::qk_norm_backward:
      return head_dim > 0 && head_dim <= kWidestHeadNorm;
    default:
      return head_dim % 2 == 0 && (traits().fp8 || !is_of_fp8(operation));
  }
}

void CudaBackend::use_workspace(const Tensor& workspace) {
  assert(workspace.bytes() >= card_traits().workspace_bytes);
  workspace_ = workspace;
  products_->use_workspace(workspace);
}

std::unique_ptr<Recording> CudaBackend::record(const std::function<void()>& work) {
  if (!records_) return nullptr;
  try {
    return runtime_->record(work);
  } catch (const Error& error) {
    // What is wrong with the card itself shows again when the work is done.
    records_ = false;
    notice_ =
        "The card could not record the steps, so each part of them is given to it anew: "
        "small models train more slowly, with the same results. (" +
        error.context() + ")";
    return nullptr;
  }
}

std::string CudaBackend::take_notice() {
  std::string notice = products_->take_notice();
  if (!notice.empty() && !notice_.empty()) notice += ' ';
  return notice += std::exchange(notice_, {});
}

void CudaBackend::zero(const Tensor& tensor) {
  use({&tensor});
  runtime_->zero(tensor.data, tensor.bytes());
}

void CudaBackend::upload(const Tensor& to, std::span<const std::byte> from) {
  assert(static_cast<std::int64_t>(from.size()) == to.bytes());
  use({&to});
  if (!from.empty()) runtime_->upload(to.data, from);
}

void CudaBackend::download(std::span<std::byte> to, const Tensor& from) {
  assert(static_cast<std::int64_t>(to.size()) == from.bytes());
  use({&from});
  if (!to.empty()) runtime_->download(to, from.data);
}

void CudaBackend::run(const AdamW& op) {
  assert(op.m.dtype == DType::f32 && op.m.elements() == op.gradients.elements());
  assert(op.v.dtype == DType::f32 && op.v.elements() == op.gradients.elements());
  assert(op.to.weights.elements() == op.gradients.elements() && op.at.step >= 1);
  use(op.to);
  use({&op.gradients, &op.m, &op.v});
  adamw(stream(), op);
}

void CudaBackend::run(const AdamW8& op) {
  [[maybe_unused]] const std::int64_t count = op.gradients.elements();
  assert(op.to.weights.elements() == count && op.at.step >= 1);
  assert(op.m.dtype == DType::u8 && op.m.elements() == count);
  assert(op.v.dtype == DType::u8 && op.v.elements() == count);
  assert(is(op.m_scale, {moment_blocks(count)}, DType::f32));
  assert(is(op.v_scale, {moment_blocks(count)}, DType::f32));
  use(op.to);
  use({&op.gradients, &op.m, &op.v, &op.m_scale, &op.v_scale});
  adamw_8bit(stream(), op);
}

void CudaBackend::run(const Muon& op) {
  [[maybe_unused]] const Shape shape = op.x.shape;
  [[maybe_unused]] const std::int64_t side = std::min(shape[0], shape[1]);
  assert(op.to.weights.elements() == op.x.elements() && gradient(op.gradients, shape));
  assert(is(op.momentum, shape, DType::f32) && rows(op.x, shape) && rows(op.next, shape));
  assert(rows(op.gram, {side, side}) && rows(op.polynomial, {side, side}));
  use(op.to);
  use({&op.gradients, &op.momentum, &op.x, &op.next, &op.gram, &op.polynomial});
  muon_begin(stream(), op, reinterpret_cast<double*>(workspace_.data));
  const Tensor y =
      newton_schulz(op, [&](const MatrixProduct& product) { products_->multiply(product); });
  muon_update(stream(), op, y);
}

void CudaBackend::run(const FromHost& op) {
  assert(is(op.to, op.host.shape, op.host.dtype));
  runtime_->bring(op.to.data, op.host.data, op.to.bytes());
}

void CudaBackend::run(const ToHost& op) {
  assert(is(op.host, op.from.shape, op.from.dtype));
  runtime_->take(op.host.data, op.from.data, op.from.bytes());
}

double CudaBackend::sum_of_squares(const Tensor& x) {
  assert(x.dtype == DType::f32 || x.dtype == DType::bf16);
  use({&x});
  auto* sums = reinterpret_cast<double*>(workspace_.data);
  cuda::sum_of_squares(stream(), x, sums);
  double sum = 0;
  runtime_->download(std::as_writable_bytes(std::span(&sum, 1)), workspace_.data);
  return sum;
}

std::unique_ptr<Backend> make_backend_on(std::unique_ptr<Runtime> runtime,
                                         std::unique_ptr<Products> products) {
  return std::make_unique<CudaBackend>(std::move(runtime), std::move(products));
}

}  // namespace athanor::cuda
