#include "ops/kernels/experts/grouped_matmul.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_grouped_mm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <vector>

#include "ops/core/autograd/custom_function.h"
#include "ops/core/buffer.h"
#include "ops/kernels/idle_threads.h"
#include "ops/kernels/skinny_linear.h"

namespace fathom::ops {
namespace {

constexpr int64_t kPart = 256;  // rows of a matrix that a task of a product takes

std::vector<c10::IValue> shown_product(const at::Tensor& x, const at::Tensor& weight,
                                       const ExpertGroups& groups) {
  return {x, weight, groups.top_k};
}

/// The rows of an expert that has some.
struct Group {
  int64_t expert;
  int64_t begin;
  int64_t end;
};

std::vector<Group> groups_of(const at::Tensor& offsets) {
  const at::Tensor ends = offsets.cpu();
  const auto* end = ends.const_data_ptr<int32_t>();
  std::vector<Group> groups;
  int64_t begin = 0;
  for (int64_t expert = 0; expert < ends.numel(); ++expert) {
    if (end[expert] > begin) groups.push_back({expert, begin, end[expert]});
    begin = end[expert];
  }
  return groups;
}

/// Calls run(group, begin, end) for parts of `extent` of each group, on all threads.
template <typename Run>
void for_parts(const std::vector<Group>& groups, int64_t extent, const Run& run) {
  const int64_t parts = (extent + kPart - 1) / kPart;
  const int64_t tasks = std::ssize(groups) * parts;
  const bool inference = c10::InferenceMode::is_enabled();
  run_on_idle_threads(at::get_num_threads(), tasks, [&](int64_t task) {
    const c10::InferenceMode mode(inference);  // turns gradients on where it is off
    const c10::NoGradGuard no_grad;
    const int64_t first = task % parts * kPart;
    run(groups[static_cast<std::size_t>(task / parts)], first, std::min(first + kPart, extent));
  });
}

/// y [P, N] of contiguous tensors.
at::Tensor products(const at::Tensor& x, const at::Tensor& weight,
                    const std::vector<Group>& groups) {
  at::Tensor y = at::empty({x.size(0), weight.size(1)}, x.options());
  for_parts(groups, weight.size(1), [&](const Group& group, int64_t begin, int64_t end) {
    const at::Tensor rows = x.slice(0, group.begin, group.end);
    const at::Tensor part = weight.select(0, group.expert).slice(0, begin, end);
    at::Tensor to = y.slice(0, group.begin, group.end).slice(1, begin, end);
    if (skinny_fits(rows, part)) {
      skinny_linear_into(rows, part, to);
    } else {
      at::mm_out(to, rows, part.t());
    }
  });
  return y;
}

CustomFunction::List grouped_gradients(const CustomFunction::Request& request) {
  const at::Tensor g = request.gradients[0].contiguous();
  const at::Tensor& x = request.saved[0];
  const at::Tensor& weight = request.saved[1];
  const std::vector<Group> groups = groups_of(request.saved[2]);
  CustomFunction::List found(2);
  if (request.wanted[0]) {
    found[0] = at::empty_like(x);
    for_parts(groups, x.size(1), [&](const Group& group, int64_t begin, int64_t end) {
      at::Tensor to = found[0].slice(0, group.begin, group.end).slice(1, begin, end);
      at::mm_out(to, g.slice(0, group.begin, group.end),
                 weight.select(0, group.expert).slice(1, begin, end));
    });
  }
  if (request.wanted[1]) {
    found[1] = at::empty_like(weight);
    int64_t next = 0;
    const auto no_rows = [&](int64_t end) {  // the gradients of experts without rows
      for (; next < end; ++next) found[1].select(0, next).zero_();
    };
    for (const Group& group : groups) {
      no_rows(group.expert);
      next = group.expert + 1;
    }
    no_rows(weight.size(0));
    for_parts(groups, weight.size(1), [&](const Group& group, int64_t begin, int64_t end) {
      at::Tensor to = found[1].select(0, group.expert).slice(0, begin, end);
      at::mm_out(to, g.slice(0, group.begin, group.end).slice(1, begin, end).t(),
                 x.slice(0, group.begin, group.end));
    });
  }
  return found;
}

at::Tensor looped(const at::Tensor& x, const at::Tensor& weight, const ExpertGroups& groups) {
  std::vector<at::Tensor> parts;
  for (const Group& group : groups_of(groups.offsets)) {
    parts.push_back(at::mm(x.slice(0, group.begin, group.end), weight.select(0, group.expert).t()));
  }
  return at::cat(parts);
}

}  // namespace

at::Tensor grouped_matmul(const at::Tensor& x, const at::Tensor& weight,
                          const ExpertGroups& groups) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:grouped_matmul", shown_product(x, weight, groups));
  constexpr int64_t kAligned = 16;  // bytes, which _grouped_mm demands of strides
  const bool fits = x.size(1) * x.element_size() % kAligned == 0 &&
                    weight.size(1) * weight.element_size() % kAligned == 0;
  if (x.scalar_type() == at::kDouble || !fits) return looped(x, weight, groups);
  return at::_grouped_mm(x, weight.transpose(1, 2), groups.offsets);
}

at::Tensor fused_grouped_matmul(const at::Tensor& x, const at::Tensor& weight,
                                const ExpertGroups& groups) {
  const at::ScalarType type = x.scalar_type();
  if (!x.is_cpu() || !element(type) || weight.scalar_type() != type)
    return grouped_matmul(x, weight, groups);
  RECORD_USER_SCOPE_WITH_INPUTS("op:grouped_matmul", shown_product(x, weight, groups));
  const CustomFunction::List inputs{x.contiguous(), weight.contiguous()};
  return apply({.forward = [&]() -> CustomFunction::Result {
                  return {{products(inputs[0], inputs[1], groups_of(groups.offsets))},
                          {inputs[0], inputs[1], groups.offsets}};
                },
                .backward = grouped_gradients},
               inputs)[0];
}

}  // namespace fathom::ops
