// Optimizer updates over all parameters of a network: those of torch::optim with the models'
// settings, TensorFlow's RMSProp, and gradient clipping. Each has a fused kernel, too.
#include <ATen/ops/zeros_like.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ops/core/check.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/fused_clip.h"
#include "ops/kernels/fused_optimizer.h"
#include "ops/kernels/fused_update.h"

namespace fathom::ops {
namespace {

// Elements checked at a time: float64 temporaries of a whole network would take gigabytes.
constexpr int64_t kCheckBlock = 1 << 15;

using List = std::vector<at::Tensor>;
using Lists = std::vector<List>;

struct UpdateShape {
  std::vector<Sizes> tensors;

  void visit(Fields& fields) { fields.tensors("tensors", tensors); }
};

/// One op type over lists of tensors with the parameters' sizes. It writes the first list and
/// returns it.
struct Rule {
  std::string_view name;
  std::optional<UpdateRule> update;  ///< none for clip_norm
  /// Adds and multiplies per element from the second step on; divisions and roots don't count.
  double flops;
  double touched;  ///< tensors of the parameters' size that are read or written
  std::size_t lists;
  double tolerance_factor = 1;
  bool native_in_steps = false;
};

// Read: parameter, gradient, states; written: parameter, states.
constexpr std::array kRules{
    Rule{.name = "sgd", .update = Sgd{.rate = 0.01}, .flops = 2, .touched = 3, .lists = 2},
    Rule{.name = "momentum",
         .update = Momentum{.rate = 0.01, .momentum = 0.9, .weight_decay = 5e-4},
         .flops = 6,
         .touched = 5,
         .lists = 2},
    Rule{.name = "nesterov",
         .update = Nesterov{.rate = 0.01, .momentum = 0.9, .weight_decay = 0},
         .flops = 6,
         .touched = 5,
         .lists = 2},
    Rule{.name = "adam", .update = Adam{.rate = 1e-3}, .flops = 10, .touched = 7, .lists = 2},
    Rule{.name = "adamw",
         .update = AdamW{.rate = 1e-3, .weight_decay = 0.1},
         .flops = 11,
         .touched = 7,
         .lists = 2},
    Rule{.name = "adagrad",
         .update = Adagrad{.rate = 0.01, .weight_decay = 1.0 / 60'000},
         .flops = 7,
         .touched = 5,
         .lists = 2},
    Rule{.name = "rmsprop",
         .update = RmsProp{.rate = 2.5e-4, .alpha = 0.95, .epsilon = 0.01},
         .flops = 7,
         .touched = 5,
         .lists = 3,
         .native_in_steps = true},
    Rule{.name = "clip_norm",
         .update = {},
         .flops = 3,
         .touched = 2,
         .lists = 1,
         .tolerance_factor = 10},  // the norm sums millions of elements
};

/// One step of LibTorch's fused kernels over {parameters, gradients}, which the models use on a
/// GPU.
Call fused_optimizer(const Lists& lists, const UpdateRule& rule) {
  for (std::size_t i = 0; i < lists[0].size(); ++i) lists[0][i].mutable_grad() = lists[1][i];
  const auto made = std::make_shared<FusedOptimizer>(rule, lists[0]);
  return [made] {
    made->step();
    return Tensors(made->parameters().begin(), made->parameters().end());
  };
}

/// One step of a torch::optim optimizer over {parameters, gradients}.
template <typename Optimizer, typename Options>
Call optimizer(const Lists& lists, const Options& options) {
  for (std::size_t i = 0; i < lists[0].size(); ++i) lists[0][i].mutable_grad() = lists[1][i];
  const auto made = std::make_shared<Optimizer>(lists[0], options);
  return [made, parameters = Tensors(lists[0].begin(), lists[0].end())] {
    made->step();
    return parameters;
  };
}

Call torch_call(const Lists& lists, const Sgd& rule) {
  return optimizer<torch::optim::SGD>(lists, torch::optim::SGDOptions(rule.rate));
}

Call torch_call(const Lists& lists, const Momentum& rule) {
  return optimizer<torch::optim::SGD>(
      lists,
      torch::optim::SGDOptions(rule.rate).momentum(rule.momentum).weight_decay(rule.weight_decay));
}

Call torch_call(const Lists& lists, const Nesterov& rule) {
  return optimizer<torch::optim::SGD>(lists, torch::optim::SGDOptions(rule.rate)
                                                 .momentum(rule.momentum)
                                                 .weight_decay(rule.weight_decay)
                                                 .nesterov(true));
}

Call torch_call(const Lists& lists, const Adam& rule) {
  return optimizer<torch::optim::Adam>(
      lists,
      torch::optim::AdamOptions(rule.rate).betas({rule.beta1, rule.beta2}).eps(rule.epsilon));
}

Call torch_call(const Lists& lists, const AdamW& rule) {
  return optimizer<torch::optim::AdamW>(lists, torch::optim::AdamWOptions(rule.rate)
                                                   .betas({rule.beta1, rule.beta2})
                                                   .eps(rule.epsilon)
                                                   .weight_decay(rule.weight_decay));
}

Call torch_call(const Lists& lists, const Adagrad& rule) {
  return optimizer<torch::optim::Adagrad>(
      lists,
      torch::optim::AdagradOptions(rule.rate).weight_decay(rule.weight_decay).eps(rule.epsilon));
}

/// {parameters, gradients, mean squares}. Written out, because torch::optim::RMSprop has another
/// formula.
Call torch_call(const Lists& lists, const RmsProp& rule) {
  return [lists, rule] {
    for (std::size_t i = 0; i < lists[0].size(); ++i) {
      const at::Tensor& g = lists[1][i];
      lists[2][i].mul_(rule.alpha).addcmul_(g, g, 1 - rule.alpha);
      lists[0][i].addcdiv_(g, (lists[2][i] + rule.epsilon).sqrt_(), -rule.rate);
    }
    return Tensors(lists[0].begin(), lists[0].end());
  };
}

/// The norm of the gradients after the first call.
constexpr double kMaxNorm = 0.1;

/// Clips {gradients}.
Call torch_clip(const Lists& lists) {
  if (lists[0][0].is_cuda()) {
    return [gradients = lists[0]] {
      foreach_clip_norm(gradients, kMaxNorm);
      return Tensors(gradients.begin(), gradients.end());
    };
  }
  List holders;  // parameters that own the gradients; their values are not read
  for (const auto& gradient : lists[0]) {
    holders.push_back(gradient.detach());
    holders.back().mutable_grad() = gradient;
  }
  return [holders, gradients = Tensors(lists[0].begin(), lists[0].end())] {
    torch::nn::utils::clip_grad_norm_(holders, kMaxNorm);
    return gradients;
  };
}

/// Clips {gradients}.
Call native_clip(const Lists& lists) {
  return [gradients = lists[0]] {
    fused_clip(gradients, kMaxNorm);
    return Tensors(gradients.begin(), gradients.end());
  };
}

/// Appends the states that `lists` lacks, which start at 0.
template <typename Rule>
Call fused_call(Lists lists, Rule rule) {
  while (std::ssize(lists) < 2 + Rule::kStates) {
    List zeros;
    for (const auto& p : lists[0]) zeros.push_back(at::zeros_like(p));
    lists.push_back(std::move(zeros));
  }
  return [lists = std::move(lists), rule]() mutable {
    fused_update(rule, lists);
    if constexpr (requires { rule.step; }) ++rule.step;
    return Tensors(lists[0].begin(), lists[0].end());
  };
}

/// Inputs are the lists, concatenated; outputs are the first list.
class Update final : public Op {
 public:
  Update(const Rule& rule, UpdateShape shape, Pass /*pass*/)
      : rule_(rule), tensors_(std::move(shape.tensors)) {}

  Cost cost(fixtures::Precision precision) const override {
    double count = 0;
    for (const auto& sizes : tensors_) count += elements(sizes);
    return {.flops = rule_.flops * count,
            .bytes = rule_.touched * element_bytes(precision) * count};
  }

  /// Weights are small, so that the first step of each rule changes them visibly.
  Tensors inputs(uint64_t seed) const override {
    RandomInputs draw(seed);
    Tensors made;
    if (rule_.lists > 1)
      for (const auto& sizes : tensors_) made.push_back(draw.normal(sizes, 0.01));
    for (const auto& sizes : tensors_) made.push_back(draw.normal(sizes));
    if (rule_.lists > 2)
      for (const auto& sizes : tensors_) made.push_back(draw.uniform(sizes, 0.1, 1));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (!rule_.update) return torch_clip(lists(in));
    if (in[0].is_cuda() && !std::holds_alternative<RmsProp>(*rule_.update)) {
      return fused_optimizer(lists(in), *rule_.update);
    }
    return std::visit([&](const auto& rule) { return torch_call(lists(in), rule); }, *rule_.update);
  }

  Call native(const Tensors& in) const override {
    if (!rule_.update) return native_clip(lists(in));
    return std::visit([&](const auto& rule) { return fused_call(lists(in), rule); }, *rule_.update);
  }

  Backend backend_in_steps(fixtures::Device /*device*/) const override {
    return rule_.native_in_steps ? Backend::kNative : Backend::kTorch;
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kNative}; }

  bool in_place() const override { return true; }

  /// LibTorch's norm in fp32 is 0.03 % off for 8 million elements, 1 % for 100 million.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    if (rule_.update) return rule_.tolerance_factor;
    constexpr double kElements = 5e5;  // that add 1 to the factor
    double longest = 0;
    for (const auto& sizes : tensors_) longest = std::max(longest, elements(sizes));
    return std::max(rule_.tolerance_factor, longest / kElements);
  }

  /// Checks block by block, except clip_norm, where each element depends on all others.
  void check(const Tensors& in, const Tensors& outputs, fixtures::Precision precision,
             const Call& reference) const override {
    if (!rule_.update) return Op::check(in, outputs, precision, reference);
    const Lists before = lists(in);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const at::Tensor found = outputs[i].cpu().reshape({before[0][i].numel()});
      for (int64_t begin = 0; begin < found.numel(); begin += kCheckBlock) {
        Tensors block;
        for (const auto& list : before) {
          block.push_back(list[i].flatten().slice(0, begin, begin + kCheckBlock));
        }
        const Update one(rule_, {{{block[0].numel()}}}, Pass::kUpdate);
        const Tensors expected = one.exact(block);
        Summands summands(one, block, expected);
        expect_close({found.slice(0, begin, begin + kCheckBlock)}, expected, precision,
                     rule_.tolerance_factor, i, &summands);
      }
    }
  }

 private:
  Lists lists(const Tensors& in) const {
    Lists made;
    for (std::size_t i = 0; i < rule_.lists; ++i) {
      const auto begin = in.begin() + static_cast<std::ptrdiff_t>(i * tensors_.size());
      made.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(tensors_.size()));
    }
    return made;
  }

  const Rule& rule_;
  std::vector<Sizes> tensors_;
};

/// The scope's argument is the list of parameters, or of gradients.
std::vector<MatchedOp> match_update(const ObservedCall& call) {
  if (call.arguments.empty() || !call.arguments[0].isTensorList()) return {};
  const auto tensors = call.arguments[0].toTensorVector();
  if (tensors.empty()) return {};
  return {matched(Pass::kUpdate, UpdateShape{tensor_sizes(tensors)})};
}

}  // namespace

std::vector<OpType> update_types() {
  std::vector<OpType> types;
  for (const Rule& rule : kRules) {
    types.push_back(
        {.name = rule.name,
         .op_class = OpClass::kOptimization,
         .passes = {Pass::kUpdate},
         .examples = {R"({"tensors": [[1]]})", R"({"tensors": [[5, 7], [3], [1, 2, 3]]})"},
         .fields = fields_of<UpdateShape>,
         .make = make_member<Update>(rule, UpdateShape{}),
         .match = match_update});
  }
  return types;
}

}  // namespace fathom::ops
