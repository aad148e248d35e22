#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {

using dnnl::memory;

std::unique_ptr<Kernel> make(const ConcatProblem& problem) {
  std::vector<memory::desc> parts;
  std::vector<Argument> inputs;
  for (const Buffer& part : problem.parts) {
    inputs.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(parts.size()), part);
    parts.push_back(layout(part));
  }
  return std::make_unique<Primitive>(
      [&] {
        return dnnl::concat::primitive_desc(engine(), layout(problem.out), problem.axis, parts);
      },
      inputs, std::vector<Argument>{{DNNL_ARG_DST, problem.out}});
}

std::unique_ptr<Kernel> make(const CopyProblem& problem) {
  return std::make_unique<Primitive>(
      [&] {
        return dnnl::reorder::primitive_desc(engine(), layout(problem.x), engine(),
                                             layout(problem.y));
      },
      std::vector<Argument>{{DNNL_ARG_FROM, problem.x}},
      std::vector<Argument>{{DNNL_ARG_TO, problem.y}});
}

}  // namespace fathom::ops::onednn
