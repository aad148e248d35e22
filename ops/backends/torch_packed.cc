#include "ops/backends/torch_packed.h"

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <chrono>
#include <functional>
#include <map>

#include "fixtures/files/text.h"
#include "ops/core/buffer.h"
#include "ops/core/check.h"

namespace fathom::ops::torch_packed {
namespace {

using at::Tensor;
using c10::IValue;
using Clock = std::chrono::steady_clock;
using OptionalTensor = std::optional<Tensor>;
using Scalars = c10::List<std::optional<at::Scalar>>;
using Text = std::string_view;

// The operators have no C++ header. After the weight they take a function to apply to the result
// ("none"), its scalars and its algorithm.
constexpr const char* kLinear = "mkldnn::_linear_pointwise";
constexpr const char* kConvolution = "mkldnn::_convolution_pointwise";
/// (x, weight, bias, function, scalars, algorithm)
using Linear = Tensor(const Tensor&, const Tensor&, const OptionalTensor&, Text, Scalars,
                      std::optional<Text>);
/// (x, addend, weight, bias, function of both)
using LinearWithAddend = Tensor(const Tensor&, const Tensor&, const Tensor&, const OptionalTensor&,
                                Text);
/// (x, weight, bias, padding, stride, dilation, groups, function, scalars, algorithm)
using Convolution = Tensor(const Tensor&, const Tensor&, const OptionalTensor&, at::IntArrayRef,
                           at::IntArrayRef, at::IntArrayRef, int64_t, Text, Scalars,
                           std::optional<Text>);

c10::OperatorHandle find(const char* name, const char* overload = "") {
  const auto found = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!found) throw NotSupported(std::string("this LibTorch has no operator ") + name);
  return *found;
}

template <typename Signature>
c10::TypedOperatorHandle<Signature> find_typed(const char* name, const char* overload = "") {
  const c10::OperatorHandle found = find(name, overload);
  try {
    return found.typed<Signature>();
  } catch (const c10::Error&) {
    throw NotSupported(std::string("this LibTorch has other arguments of ") + name);
  }
}

/// Reorders a weight, which is the first argument.
Tensor packed(const char* name, std::vector<IValue> arguments) {
  find(name).callBoxed(arguments);
  return arguments.at(0).toTensor();
}

Tensor tensor(const Buffer& buffer) {
  const auto type = buffer.element == Element::kBf16   ? at::kBFloat16
                    : buffer.element == Element::kFp16 ? at::kHalf
                    : buffer.element == Element::kFp64 ? at::kDouble
                                                       : at::kFloat;
  return at::from_blob(buffer.data, buffer.sizes, buffer.strides, type);
}

OptionalTensor tensor(const std::optional<Buffer>& buffer) {
  return buffer ? OptionalTensor(tensor(*buffer)) : std::nullopt;
}

/// A call over tensors that are in its layouts. Like LibTorch's others, it allocates its result.
class PackedCall final : public Kernel {
 public:
  using Call = std::function<Tensor()>;

  PackedCall(const char* name, Call call, Tensor y, double reorder_us)
      : name_(name), call_(std::move(call)), y_(std::move(y)), reorder_us_(reorder_us) {}

  void run() override {
    const c10::InferenceMode inference;
    result_ = call_();
  }

  void write_outputs() override {
    const c10::InferenceMode inference;
    y_.copy_(result_);
  }

  /// LibTorch does not tell which of oneDNN's it is.
  std::string implementation() const override { return name_; }

  std::vector<std::pair<std::string, double>> counters() const override {
    return {{"reorder_us", reorder_us_}};
  }

 private:
  const char* name_;
  Call call_;
  Tensor y_;  ///< the caller's
  Tensor result_;
  double reorder_us_;
};

/// Adds up the time of reorders.
class Stopwatch {
 public:
  Tensor operator()(const std::function<Tensor()>& reorder) {
    const auto begin = Clock::now();
    Tensor made = reorder();
    us_ += std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    return made;
  }
  double us() const { return us_; }

 private:
  double us_ = 0;
};

std::unique_ptr<Kernel> make(const MatmulProblem& problem) {
  if (problem.a.sizes.size() != 2) throw NotSupported(std::string(kLinear) + ": expects matrices");
  Stopwatch timed;
  const Tensor x = timed([&] { return tensor(problem.a).contiguous(); });
  const Tensor weight = timed([&] {
    return packed("mkldnn::_reorder_linear_weight", {tensor(problem.b).t(), x.size(0)});
  });
  const OptionalTensor added = tensor(problem.addend);
  PackedCall::Call call;
  if (added && added->dim() == 2) {
    call = [=, op = find_typed<LinearWithAddend>(kLinear, "binary")] {
      return op.call(x, *added, weight, std::nullopt, "add");
    };
  } else {
    call = [=, op = find_typed<Linear>(kLinear), none = Scalars()] {
      return op.call(x, weight, added, "none", none, std::nullopt);
    };
  }
  return std::make_unique<PackedCall>(kLinear, std::move(call), tensor(problem.c), timed.us());
}

std::unique_ptr<Kernel> make(const ConvolutionProblem& problem) {
  if (problem.writes != ConvolutionProblem::Writes::kY)
    throw NotSupported(std::string(kConvolution) + ": has no gradients");
  Stopwatch timed;
  const auto channels_last = [](const Tensor& images) {
    return images.contiguous(at::MemoryFormat::ChannelsLast);
  };
  const Tensor x = timed([&] { return channels_last(tensor(problem.x)); });
  const Tensor weight = timed([&] {
    return packed(
        "mkldnn::_reorder_convolution_weight",
        {tensor(problem.w), at::IntArrayRef(problem.padding), at::IntArrayRef(problem.stride),
         at::IntArrayRef(problem.dilation), problem.groups, x.sizes()});
  });
  const Tensor y = tensor(problem.y);
  const Tensor result = channels_last(at::zeros(y.sizes(), y.options()));
  timed([&] { return y.copy_(result); });
  return std::make_unique<PackedCall>(
      kConvolution,
      [x, weight, problem, bias = tensor(problem.bias), op = find_typed<Convolution>(kConvolution),
       none = Scalars()] {
        return op.call(x, weight, bias, problem.padding, problem.stride, problem.dilation,
                       problem.groups, "none", none, std::nullopt);
      },
      y, timed.us());
}

/// Reorders weights of one number.
std::string tried(fixtures::Precision precision) {
  const c10::InferenceMode inference;
  try {
    const Tensor one = at::ones({1, 1}, scalar_type(precision));
    const Tensor pixel = at::ones({1, 1, 1, 1}, scalar_type(precision));
    make(MatmulProblem{.a = buffer(one), .b = buffer(one), .c = buffer(one)});
    make(ConvolutionProblem{.writes = ConvolutionProblem::Writes::kY,
                            .x = buffer(pixel),
                            .w = buffer(pixel),
                            .y = buffer(pixel),
                            .bias = {},
                            .stride = {1, 1},
                            .padding = {0, 0},
                            .dilation = {1, 1},
                            .groups = 1});
  } catch (const std::exception& error) {
    return fixtures::first_line(error.what());
  }
  return {};
}

}  // namespace

const std::string& refusal(fixtures::Precision precision) {
  static std::map<fixtures::Precision, std::string> known;
  const auto found = known.find(precision);
  if (found != known.end()) return found->second;
  return known.emplace(precision, tried(precision)).first->second;
}

std::unique_ptr<Kernel> kernel(const Problem& problem) {
  const c10::InferenceMode inference;
  const auto solve = [](const auto& one) -> std::unique_ptr<Kernel> {
    if constexpr (requires { make(one); }) return make(one);
    throw NotSupported("LibTorch packs no weights of this op");
  };
  return std::visit(solve, problem);
}

}  // namespace fathom::ops::torch_packed
