#include "ops/kernels/multinomial.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/multinomial.h>
#include <ATen/record_function.h>

#include <vector>

namespace fathom::ops {

at::Tensor multinomial(const at::Tensor& probabilities) {
  if (!probabilities.is_cuda()) return at::multinomial(probabilities, /*num_samples=*/1);
  RECORD_USER_SCOPE_WITH_INPUTS("op:multinomial", std::vector<c10::IValue>{probabilities});
  // An exponential time divided by p has the rate p. The first of independent times is that of
  // class c with a probability proportional to its rate.
  const at::Tensor times = at::empty_like(probabilities).exponential_();
  return at::argmax(probabilities / times, /*dim=*/1, /*keepdim=*/true);
}

}  // namespace fathom::ops
