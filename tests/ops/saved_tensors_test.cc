#include "ops/profiler/saved_tensors.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "ops/core/autograd/custom_function.h"
#include "tests/benchmarks/own_process.h"

namespace fathom::ops {
namespace {

TEST(SavedTensors, AreThoseOfTheForwardPass) {
  const at::Tensor x = at::ones({3}).requires_grad_();
  std::vector<const void*> saved;
  visit_saved_tensors([&](const at::Tensor& one) { saved.push_back(one.const_data_ptr()); },
                      [&] { (x * x).sum().backward(); });
  EXPECT_EQ(saved, std::vector(2, x.const_data_ptr()));
  EXPECT_TRUE(x.grad().equal(2 * at::ones({3})));
}

/// A device whose backward passes run on a thread of their own, like a GPU's. It has no kernels.
const at::Device kDevice(at::kXLA, 0);

void register_device() {
  static const c10::impl::NoOpDeviceGuardImpl<at::kXLA> guard;
  c10::impl::device_guard_impl_registry[static_cast<std::size_t>(at::kXLA)] = &guard;
}

at::Tensor on_device() {
  static float number = 0;
  at::DataPtr data{&number, kDevice};
  c10::Storage storage(c10::Storage::use_byte_size_t{}, sizeof(number), std::move(data));
  const c10::DispatchKeySet keys{c10::DispatchKey::XLA, c10::DispatchKey::AutogradXLA};
  return at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys,
                                                  caffe2::TypeMeta::Make<float>());
}

/// Whether a backward pass on the device gives its gradient.
bool has_gradient() {
  const at::Tensor x = on_device().requires_grad_();
  const at::Tensor gradient = on_device();
  const auto y =
      apply({.forward = []() -> CustomFunction::Result {
               return {{on_device()}, {}};
             },
             .backward = [](const CustomFunction::Request& request) { return request.gradients; }},
            {x});
  return torch::autograd::grad(y, {x}, {gradient})[0].is_same(gradient);
}

TEST(SavedTensors, LeaveLibTorchsEngineTheThreadsOfDevices) {
  benchmarks::in_own_process([] {
    register_device();
    visit_saved_tensors([](const at::Tensor& /*saved*/) {}, [] { EXPECT_TRUE(has_gradient()); });
    EXPECT_TRUE(has_gradient());
  });
}

}  // namespace
}  // namespace fathom::ops
