#include "ops/backends/onednn/image_layout.h"
#include "ops/backends/onednn/kernels.h"

namespace fathom::ops::onednn {

using dnnl::memory;

std::unique_ptr<Kernel> make(const UpsampleProblem& problem) {
  constexpr auto kNearest = dnnl::algorithm::resampling_nearest;
  const auto forward = [&](const memory::desc& image) {
    return dnnl::resampling_forward::primitive_desc(engine(), dnnl::prop_kind::forward_training,
                                                    kNearest, image, any_layout(problem.y));
  };
  if (!problem.dx) {
    return image_primitive(problem.x, forward, {{DNNL_ARG_SRC, problem.x}},
                           {{DNNL_ARG_DST, problem.y}});
  }
  const auto backward = [&](const memory::desc& image) {
    const auto hint = forward(image);
    return dnnl::resampling_backward::primitive_desc(engine(), kNearest, image, hint.dst_desc(),
                                                     hint);
  };
  return image_primitive(*problem.dx, backward, {{DNNL_ARG_DIFF_DST, problem.y}},
                         {{DNNL_ARG_DIFF_SRC, *problem.dx}});
}

}  // namespace fathom::ops::onednn
