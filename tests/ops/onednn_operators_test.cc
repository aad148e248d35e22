// Each operator that oneDNN replaces gives LibTorch's results, forward and backward.
#include <ATen/ops/addmm.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "ops/backends/onednn/library.h"
#include "ops/backends/operators/kernel_set.h"
#include "tests/benchmarks/own_process.h"

namespace fathom::ops {
namespace {

using benchmarks::in_own_process;
using Tensors = std::vector<at::Tensor>;

struct Case {
  std::string name;
  std::function<at::Tensor(const Tensors& in)> call;
  std::vector<std::vector<int64_t>> sizes;  ///< of the inputs that have gradients
};

at::Tensor normalized(const Tensors& in, bool training) {
  const at::Tensor mean = at::zeros({4});
  const at::Tensor variance = at::ones({4});
  const auto [y, unused, also_unused] =
      at::native_batch_norm(in[0], in[1], in[2], mean, variance, training, 0.1, 1e-5);
  return y + mean.view({1, 4, 1, 1}) + variance.view({1, 4, 1, 1});
}

/// {y, h', c'} of a layer over x [T, N, I].
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm(const Tensors& in) {
  const Tensors states{in[1], in[2]};
  const Tensors weights(in.begin() + 3, in.end());
  return at::lstm(in[0], states, weights, /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0,
                  /*train=*/true, /*bidirectional=*/false, /*batch_first=*/false);
}

std::vector<Case> cases() {
  const std::vector<int64_t> image{2, 4, 9, 9};
  const std::vector<std::vector<int64_t>> layer{{5, 3, 4}, {1, 3, 6}, {1, 3, 6}, {24, 4},
                                                {24, 6},   {24},      {24}};
  return {
      {"addmm",
       [](const Tensors& in) { return at::addmm(in[0], in[1], in[2]); },
       {{5}, {3, 4}, {4, 5}}},
      {"mm of a transposed matrix",
       [](const Tensors& in) { return at::mm(in[0], in[1].t()); },
       {{3, 4}, {5, 4}}},
      {"bmm", [](const Tensors& in) { return at::bmm(in[0], in[1]); }, {{2, 3, 4}, {2, 4, 5}}},
      {"convolution",
       [](const Tensors& in) {
         return at::conv2d(in[0], in[1], in[2], {2, 1}, {1, 0});
       },
       {image, {6, 4, 3, 2}, {6}}},
      {"convolution of single pixels",
       [](const Tensors& in) { return at::conv2d(in[0], in[1]); },
       {image, {6, 4, 1, 1}}},
      {"grouped convolution",
       [](const Tensors& in) {
         return at::conv2d(in[0], in[1], at::Tensor(), {1, 1}, at::IntArrayRef({0, 0}), {1, 1},
                           /*groups=*/2);
       },
       {image, {6, 2, 3, 3}}},
      {"max pool",
       [](const Tensors& in) {
         return at::max_pool2d(in[0], {3, 2}, 2, {1, 0});
       },
       {image}},
      {"average pool", [](const Tensors& in) { return at::avg_pool2d(in[0], 3, 2, 1); }, {image}},
      {"average pool without padding",
       [](const Tensors& in) { return at::avg_pool2d(in[0], 3, 2, 1, false, false); },
       {image}},
      {"batch norm", [](const Tensors& in) { return normalized(in, true); }, {image, {4}, {4}}},
      {"batch norm of inference",
       [](const Tensors& in) { return normalized(in, false); },
       {image, {4}, {4}}},
      {"lstm", [](const Tensors& in) { return std::get<0>(lstm(in)); }, layer},
      {"last states of an lstm",
       [](const Tensors& in) {
         const auto [y, h, c] = lstm(in);
         return y[1] + h * c;
       },
       layer},
      {"lstm of one transposed sequence",
       [](const Tensors& in) {
         Tensors turned = in;
         turned[0] = in[0].transpose(0, 1);  // LibTorch calls it contiguous
         return std::get<0>(lstm(turned));
       },
       {{1, 5, 4}, {1, 1, 6}, {1, 1, 6}, {24, 4}, {24, 6}, {24}, {24}}},
      {"softmax", [](const Tensors& in) { return at::softmax(in[0], -1); }, {{3, 7}}},
      {"softmax of a middle dimension",
       [](const Tensors& in) { return at::softmax(in[0], 1); },
       {{3, 7, 2}}},
      {"log_softmax", [](const Tensors& in) { return at::log_softmax(in[0], 1); }, {{3, 7}}},
      {"relu", [](const Tensors& in) { return at::relu(in[0]); }, {{3, 7}}},
      {"relu_", [](const Tensors& in) { return (in[0] + 0).relu_(); }, {{3, 7}}},
      {"hardtanh", [](const Tensors& in) { return at::hardtanh(in[0], 0, 1); }, {{3, 7}}},
      {"hardtanh_",
       [](const Tensors& in) {
         at::Tensor y = in[0] + 0;
         return at::hardtanh_(y, -0.5, 1);
       },
       {{3, 7}}},
      {"sigmoid", [](const Tensors& in) { return at::sigmoid(in[0]); }, {{3, 7}}},
      {"tanh", [](const Tensors& in) { return at::tanh(in[0]); }, {{3, 7}}},
  };
}

/// The result of a case, then the gradients.
Tensors results(const Case& one, at::MemoryFormat format) {
  torch::manual_seed(7);
  Tensors in;
  for (const auto& sizes : one.sizes) {
    const bool image = sizes.size() == 4;
    in.push_back(at::randn(sizes)
                     .contiguous(image ? format : at::MemoryFormat::Contiguous)
                     .requires_grad_());
  }
  const at::Tensor y = one.call(in);
  y.backward(at::randn_like(y.detach()));
  Tensors all{y.detach()};
  for (const auto& each : in) all.push_back(each.grad());
  return all;
}

TEST(OneDnnOperators, GiveLibTorchsResults) {
  if (onednn::version().empty()) GTEST_SKIP() << "built without oneDNN";
  in_own_process([] {
    const std::vector formats{at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast};
    std::vector<Tensors> expected;
    for (const auto& one : cases()) {
      for (const auto format : formats) expected.push_back(results(one, format));
    }
    const auto kernels = onednn_kernels();
    kernels->install(nullptr);
    auto next = expected.begin();
    for (const auto& one : cases()) {
      for (const auto format : formats) {
        const Tensors found = results(one, format);
        ASSERT_EQ(found.size(), next->size()) << one.name;
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_TRUE(at::allclose((*next)[i], found[i], 1e-4, 1e-5))
              << one.name << (i == 0 ? "" : ", gradient " + std::to_string(i)) << '\n'
              << (*next)[i] << '\n'
              << found[i];
        }
        ++next;
      }
    }
    EXPECT_EQ(kernels->replaced(), kernels->operators().at(fixtures::Device::kCpu))
        << "each operator ran on oneDNN";
  });
}

/// The strides of a convolution's result and of the gradients of its image and weights.
std::vector<std::vector<int64_t>> convolution_strides(at::MemoryFormat image,
                                                      at::MemoryFormat weights) {
  const at::Tensor x = at::randn({2, 16, 9, 9}).contiguous(image).requires_grad_();
  const at::Tensor w = at::randn({32, 16, 3, 3}).contiguous(weights).requires_grad_();
  const at::Tensor y = at::conv2d(x, w);
  const auto gradients = torch::autograd::grad({y}, {x, w}, {at::randn_like(y.detach())});
  return {y.strides().vec(), gradients[0].strides().vec(), gradients[1].strides().vec()};
}

TEST(OneDnnOperators, ConvolutionsHaveLibTorchsLayouts) {
  if (onednn::version().empty()) GTEST_SKIP() << "built without oneDNN";
  in_own_process([] {
    const std::vector formats{at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast};
    std::vector<std::vector<std::vector<int64_t>>> expected;
    for (const auto image : formats) {
      for (const auto weights : formats) expected.push_back(convolution_strides(image, weights));
    }
    const auto kernels = onednn_kernels();
    kernels->install(nullptr);
    auto next = expected.begin();
    for (const auto image : formats) {
      for (const auto weights : formats) {
        EXPECT_EQ(convolution_strides(image, weights), *next++) << image << ", weights " << weights;
      }
    }
  });
}

}  // namespace
}  // namespace fathom::ops
