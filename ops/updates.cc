// Updates over all parameters of a network, given by their extents: those of torch::optim as the
// models make them, ours for RMSProp, and the clip of gradients.
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <array>
#include <string>
#include <utility>

#include "ops/draws.h"
#include "ops/extents.h"
#include "ops/rmsprop.h"
#include "ops/table.h"

namespace fathom::ops {
namespace {

using List = std::vector<at::Tensor>;

/// One type, over lists of tensors of the parameters' sizes; the first is written and given back.
struct Rule {
  std::string_view name;
  /// An element, from the second step on: adds and multiplies, without divisions and roots.
  double flops;
  double touched;  ///< tensors of the parameters' size that are read or written
  std::size_t lists;
  Call (*call)(const std::vector<List>& lists);
  Call (*native)(const std::vector<List>& lists) = nullptr;
  double slack = 1;  ///< of the check
};

/// {parameters, gradients}.
template <typename Optimizer, typename Options>
Call optimizer(const std::vector<List>& lists, const Options& options) {
  for (std::size_t i = 0; i < lists[0].size(); ++i) lists[0][i].mutable_grad() = lists[1][i];
  const auto made = std::make_shared<Optimizer>(lists[0], options);
  return [made, parameters = Tensors(lists[0].begin(), lists[0].end())] {
    made->step();
    return parameters;
  };
}

Call sgd(const std::vector<List>& lists) {
  return optimizer<torch::optim::SGD>(lists, torch::optim::SGDOptions(0.01));
}

Call momentum(const std::vector<List>& lists) {
  return optimizer<torch::optim::SGD>(
      lists, torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(5e-4));
}

Call adam(const std::vector<List>& lists) {
  return optimizer<torch::optim::Adam>(lists, torch::optim::AdamOptions(1e-3));
}

Call adagrad(const std::vector<List>& lists) {
  return optimizer<torch::optim::Adagrad>(
      lists, torch::optim::AdagradOptions(0.01).weight_decay(1.0 / 60'000));
}

/// {parameters, gradients, mean squares}.
template <auto update>
Call rmsprop_call(const std::vector<List>& lists) {
  return [lists] {
    update(lists[0], lists[1], lists[2], {.rate = 2.5e-4, .decay = 0.95, .epsilon = 0.01});
    return Tensors(lists[0].begin(), lists[0].end());
  };
}

/// {gradients}. After the first call their norm is the largest.
Call clip_norm(const std::vector<List>& lists) {
  List holders;  // the gradients' parameters, which nobody reads
  for (const auto& gradient : lists[0]) {
    holders.push_back(gradient.detach());
    holders.back().mutable_grad() = gradient;
  }
  return [holders, gradients = Tensors(lists[0].begin(), lists[0].end())] {
    torch::nn::utils::clip_grad_norm_(holders, /*max_norm=*/0.1);
    return gradients;
  };
}

// Read: parameter, gradient, state; written: parameter, state.
constexpr std::array kRules{
    Rule{.name = "sgd", .flops = 2, .touched = 3, .lists = 2, .call = sgd},
    Rule{.name = "momentum", .flops = 6, .touched = 5, .lists = 2, .call = momentum},
    Rule{.name = "adam", .flops = 10, .touched = 7, .lists = 2, .call = adam},
    Rule{.name = "adagrad", .flops = 7, .touched = 5, .lists = 2, .call = adagrad},
    Rule{.name = "rmsprop",
         .flops = 7,
         .touched = 5,
         .lists = 3,
         .call = rmsprop_call<rmsprop_composite>,
         .native = rmsprop_call<rmsprop>},
    Rule{.name = "clip_norm",
         .flops = 3,
         .touched = 2,
         .lists = 1,
         .call = clip_norm,
         .slack = 10},  // a sum over millions
};

/// Inputs: every list one after the other; outputs: the first list.
class Update final : public Op {
 public:
  Update(const Rule& rule, std::vector<std::vector<int64_t>> tensors)
      : rule_(rule), tensors_(std::move(tensors)) {}

  Cost cost(fixtures::Precision precision) const override {
    double count = 0;
    for (const auto& sizes : tensors_) count += elements(sizes);
    return {.flops = rule_.flops * count,
            .bytes = rule_.touched * element_bytes(precision) * count};
  }

  /// Weights are so small that the first step of each rule shows in them.
  Tensors inputs(uint64_t seed) const override {
    Draws draw(seed);
    Tensors made;
    if (rule_.lists > 1)
      for (const auto& sizes : tensors_) made.push_back(draw.normal(sizes, 0.01));
    for (const auto& sizes : tensors_) made.push_back(draw.normal(sizes));
    if (rule_.lists > 2)
      for (const auto& sizes : tensors_) made.push_back(draw.uniform(sizes, 0.1, 1));
    return made;
  }

  Call call(const Tensors& in) const override { return rule_.call(lists(in)); }

  Call native(const Tensors& in) const override {
    return rule_.native == nullptr ? nullptr : rule_.native(lists(in));
  }

  std::vector<Backend> backends() const override {
    if (rule_.native == nullptr) return {Backend::kTorch};
    return {Backend::kTorch, Backend::kNative};
  }

  bool in_place() const override { return true; }

  double slack(fixtures::Precision /*precision*/) const override { return rule_.slack; }

 private:
  std::vector<List> lists(const Tensors& in) const {
    std::vector<List> made;
    for (std::size_t i = 0; i < rule_.lists; ++i) {
      const auto begin = in.begin() + static_cast<std::ptrdiff_t>(i * tensors_.size());
      made.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(tensors_.size()));
    }
    return made;
  }

  const Rule& rule_;
  std::vector<std::vector<int64_t>> tensors_;
};

/// The models' scopes say their parameters, or gradients, in one list.
std::vector<SeenOp> recognise(const Rule& rule, const Seen& seen) {
  if (seen.name != "op:" + std::string(rule.name) || seen.arguments.empty() ||
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
  for (const Rule& rule : kRules) {
    types.push_back({rule.name,
                     {Pass::kUpdate},
                     [&rule](Fields& fields, Pass /*pass*/) {
                       return std::make_unique<Update>(rule, fields.tensors("tensors"));
                     },
                     [&rule](const Seen& seen) { return recognise(rule, seen); }});
  }
  return types;
}

}  // namespace fathom::ops
