// Updates over all parameters of a network, given by their extents: those of torch::optim as the
// models make them, TensorFlow's RMSProp and the clip of gradients, each beside our own kernel.
#include <ATen/ops/zeros_like.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ops/core/check.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/fused_clip.h"
#include "ops/kernels/fused_update.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

// Elements that are checked at once: float64 temporaries of a whole network take gigabytes.
constexpr int64_t kCheckBlock = 1 << 15;

using List = std::vector<at::Tensor>;
using Lists = std::vector<List>;

/// One type, over lists of tensors of the parameters' sizes; the first is written and given back.
struct Row {
  std::string_view name;
  std::optional<UpdateRule> rule;  ///< none for the clip
  /// An element, from the second step on: adds and multiplies, without divisions and roots.
  double flops;
  double touched;  ///< tensors of the parameters' size that are read or written
  std::size_t lists;
  double slack = 1;  ///< of the check
  bool native_in_steps = false;
};

// Read: parameter, gradient, states; written: parameter, states.
constexpr std::array kRows{
    Row{.name = "sgd", .rule = Sgd{.rate = 0.01}, .flops = 2, .touched = 3, .lists = 2},
    Row{.name = "momentum",
        .rule = Momentum{.rate = 0.01, .momentum = 0.9, .decay = 5e-4},
        .flops = 6,
        .touched = 5,
        .lists = 2},
    Row{.name = "adam", .rule = Adam{.rate = 1e-3}, .flops = 10, .touched = 7, .lists = 2},
    Row{.name = "adagrad",
        .rule = Adagrad{.rate = 0.01, .decay = 1.0 / 60'000},
        .flops = 7,
        .touched = 5,
        .lists = 2},
    Row{.name = "rmsprop",
        .rule = RmsProp{.rate = 2.5e-4, .decay = 0.95, .epsilon = 0.01},
        .flops = 7,
        .touched = 5,
        .lists = 3,
        .native_in_steps = true},
    Row{.name = "clip_norm",
        .rule = {},
        .flops = 3,
        .touched = 2,
        .lists = 1,
        .slack = 10},  // a sum over millions
};

/// {parameters, gradients}.
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
      lists, torch::optim::SGDOptions(rule.rate).momentum(rule.momentum).weight_decay(rule.decay));
}

Call torch_call(const Lists& lists, const Adam& rule) {
  return optimizer<torch::optim::Adam>(
      lists,
      torch::optim::AdamOptions(rule.rate).betas({rule.beta1, rule.beta2}).eps(rule.epsilon));
}

Call torch_call(const Lists& lists, const Adagrad& rule) {
  return optimizer<torch::optim::Adagrad>(
      lists, torch::optim::AdagradOptions(rule.rate).weight_decay(rule.decay).eps(rule.epsilon));
}

/// {parameters, gradients, mean squares}: LibTorch's optimizer has another form.
Call torch_call(const Lists& lists, const RmsProp& rule) {
  return [lists, rule] {
    for (std::size_t i = 0; i < lists[0].size(); ++i) {
      const at::Tensor& g = lists[1][i];
      lists[2][i].mul_(rule.decay).addcmul_(g, g, 1 - rule.decay);
      lists[0][i].addcdiv_(g, (lists[2][i] + rule.epsilon).sqrt_(), -rule.rate);
    }
    return Tensors(lists[0].begin(), lists[0].end());
  };
}

// After the first call the gradients' norm is this.
constexpr double kLargestNorm = 0.1;

/// {gradients}.
Call torch_clip(const Lists& lists) {
  List holders;  // the gradients' parameters, which nobody reads
  for (const auto& gradient : lists[0]) {
    holders.push_back(gradient.detach());
    holders.back().mutable_grad() = gradient;
  }
  return [holders, gradients = Tensors(lists[0].begin(), lists[0].end())] {
    torch::nn::utils::clip_grad_norm_(holders, kLargestNorm);
    return gradients;
  };
}

/// {gradients}.
Call native_clip(const Lists& lists) {
  return [gradients = lists[0]] {
    fused_clip(gradients, kLargestNorm);
    return Tensors(gradients.begin(), gradients.end());
  };
}

/// Of the rule's states, those that `lists` lack start at 0.
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

/// Inputs: every list one after the other; outputs: the first list.
class Update final : public Op {
 public:
  Update(const Row& row, std::vector<std::vector<int64_t>> tensors)
      : row_(row), tensors_(std::move(tensors)) {}

  Cost cost(fixtures::Precision precision) const override {
    double count = 0;
    for (const auto& sizes : tensors_) count += elements(sizes);
    return {.flops = row_.flops * count, .bytes = row_.touched * element_bytes(precision) * count};
  }

  /// Weights are so small that the first step of each rule shows in them.
  Tensors inputs(uint64_t seed) const override {
    Draws draw(seed);
    Tensors made;
    if (row_.lists > 1)
      for (const auto& sizes : tensors_) made.push_back(draw.normal(sizes, 0.01));
    for (const auto& sizes : tensors_) made.push_back(draw.normal(sizes));
    if (row_.lists > 2)
      for (const auto& sizes : tensors_) made.push_back(draw.uniform(sizes, 0.1, 1));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (!row_.rule) return torch_clip(lists(in));
    return std::visit([&](const auto& rule) { return torch_call(lists(in), rule); }, *row_.rule);
  }

  Call native(const Tensors& in) const override {
    if (!row_.rule) return native_clip(lists(in));
    return std::visit([&](const auto& rule) { return fused_call(lists(in), rule); }, *row_.rule);
  }

  bool native_in_steps() const override { return row_.native_in_steps; }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kNative}; }

  bool in_place() const override { return true; }

  double slack(fixtures::Precision /*precision*/) const override { return row_.slack; }

  /// In blocks. The clip's elements need all the others.
  void check(const Tensors& in, const Tensors& outputs, fixtures::Precision precision,
             const Call& reference) const override {
    if (!row_.rule) return Op::check(in, outputs, precision, reference);
    const Lists before = lists(in);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const at::Tensor found = outputs[i].cpu().reshape({before[0][i].numel()});
      for (int64_t begin = 0; begin < found.numel(); begin += kCheckBlock) {
        Tensors block;
        for (const auto& list : before) {
          block.push_back(list[i].flatten().slice(0, begin, begin + kCheckBlock));
        }
        const Update one(row_, {{block[0].numel()}});
        expect_close({found.slice(0, begin, begin + kCheckBlock)}, one.exact(block), precision,
                     row_.slack, i);
      }
    }
  }

 private:
  Lists lists(const Tensors& in) const {
    Lists made;
    for (std::size_t i = 0; i < row_.lists; ++i) {
      const auto begin = in.begin() + static_cast<std::ptrdiff_t>(i * tensors_.size());
      made.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(tensors_.size()));
    }
    return made;
  }

  const Row& row_;
  std::vector<std::vector<int64_t>> tensors_;
};

/// The models' scopes say their parameters, or gradients, in one list.
std::vector<SeenOp> recognise(const Row& row, const Seen& seen) {
  if (seen.name != "op:" + std::string(row.name) || seen.arguments.empty() ||
      !seen.arguments[0].isTensorList() || seen.arguments[0].toTensorVector().empty()) {
    return {};
  }
  nlohmann::ordered_json fields;
  fields["tensors"] = extents(seen.arguments[0].toTensorVector());
  return {{Pass::kUpdate, fields}};
}

}  // namespace

std::vector<OpType> update_types() {
  std::vector<OpType> types;
  for (const Row& row : kRows) {
    types.push_back({row.name,
                     {Pass::kUpdate},
                     [&row](Fields& fields, Pass /*pass*/) {
                       return std::make_unique<Update>(row, fields.tensors("tensors"));
                     },
                     [&row](const Seen& seen) { return recognise(row, seen); }});
  }
  return types;
}

}  // namespace fathom::ops
