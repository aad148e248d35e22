#include "ops/kernels/additive_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/linear.h>
#include <ATen/record_function.h>

namespace fathom::ops {

at::Tensor additive_attention(const at::Tensor& memory, const at::Tensor& keys,
                              const at::Tensor& query, const at::Tensor& score) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:additive_attention", (std::vector<c10::IValue>{memory, keys}));
  const at::Tensor scores = at::linear((keys + query.unsqueeze(1)).tanh_(), score);  // [N, T, 1]
  return at::bmm(scores.softmax(1).transpose(1, 2), memory).squeeze(1);
}

}  // namespace fathom::ops
