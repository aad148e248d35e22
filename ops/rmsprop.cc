#include "ops/rmsprop.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>

#include <cmath>

#include "ops/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements a thread takes at least, some 5 us

template <typename T>
FATHOM_VECTOR_CLONES void update(T* p, const T* g, T* mean_square, int64_t count,
                                 const RmsProp& options) {
  const auto rate = static_cast<T>(options.rate);
  const auto decay = static_cast<T>(options.decay);
  const auto rest = static_cast<T>(1 - options.decay);
  const auto epsilon = static_cast<T>(options.epsilon);
  for (int64_t i = 0; i < count; ++i) {
    mean_square[i] = decay * mean_square[i] + rest * g[i] * g[i];
    p[i] -= rate * g[i] / std::sqrt(mean_square[i] + epsilon);
  }
}

void update_on_cpu(const at::Tensor& parameter, const at::Tensor& gradient,
                   const at::Tensor& mean_square, const RmsProp& options) {
  AT_DISPATCH_FLOATING_TYPES(parameter.scalar_type(), "rmsprop", [&] {
    auto* p = parameter.mutable_data_ptr<scalar_t>();
    const auto* g = gradient.const_data_ptr<scalar_t>();
    auto* square = mean_square.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, parameter.numel(), kGrain, [&](int64_t begin, int64_t end) {
      update(p + begin, g + begin, square + begin, end - begin, options);
    });
  });
}

void update_elsewhere(const at::Tensor& parameter, const at::Tensor& gradient,
                      const at::Tensor& mean_square, const RmsProp& options) {
  mean_square.mul_(options.decay).addcmul_(gradient, gradient, 1 - options.decay);
  parameter.addcdiv_(gradient, (mean_square + options.epsilon).sqrt_(), -options.rate);
}

}  // namespace

void rmsprop(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients,
             const std::vector<at::Tensor>& mean_squares, const RmsProp& options) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    TORCH_CHECK(parameters[i].is_contiguous() && gradients[i].is_contiguous() &&
                    mean_squares[i].is_contiguous() &&
                    parameters[i].sizes() == gradients[i].sizes() &&
                    parameters[i].sizes() == mean_squares[i].sizes(),
                "rmsprop: parameter ", i, " and its gradient or mean square differ in layout");
    (parameters[i].is_cpu() ? update_on_cpu : update_elsewhere)(parameters[i], gradients[i],
                                                                mean_squares[i], options);
  }
}

}  // namespace fathom::ops
