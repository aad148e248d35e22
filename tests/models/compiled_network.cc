// A library as AOTInductor compiles it: inference_program() of user_network_test.cc, for any number
// of samples.
#include <ATen/ops/arange.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <torch/csrc/inductor/aoti_runtime/interface.h>
#include <torch/csrc/inductor/aoti_torch/tensor_converter.h>

#include <cstdlib>
#include <iostream>

namespace {

at::Tensor compute(const at::Tensor& x) {
  const at::Tensor weight = at::arange(-2, 4, at::kFloat).view({2, 3});
  return at::relu(at::linear(x, weight, at::ones(2)));
}

}  // namespace

extern "C" {

AOTIRuntimeError AOTInductorModelContainerCreateWithDevice(AOTInductorModelContainerHandle* handle,
                                                           size_t /*models*/,
                                                           const char* /*device*/,
                                                           const char* /*folder*/) {
  *handle = nullptr;
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerRun(AOTInductorModelContainerHandle /*container*/,
                                              AtenTensorHandle* input_handles, size_t num_inputs,
                                              AtenTensorHandle* output_handles,
                                              size_t /*num_outputs*/,
                                              AOTInductorStreamHandle /*stream*/,
                                              AOTIProxyExecutorHandle /*executor*/) {
  const auto stolen =
      torch::aot_inductor::alloc_tensors_by_stealing_from_handles(input_handles, num_inputs);
  const char* checks = std::getenv("AOTI_RUNTIME_CHECK_INPUTS");
  if (checks != nullptr && stolen[0].size(1) != 3) {
    std::cerr << "Error: input_handles[0]: unmatched dim value at 1, expected: 3, but got: "
              << stolen[0].size(1) << '\n';
    return AOTI_RUNTIME_FAILURE;
  }
  output_handles[0] =
      torch::aot_inductor::unsafe_alloc_new_handles_from_tensors({compute(stolen[0])})[0];
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerGetNumOutputs(
    AOTInductorModelContainerHandle /*container*/, size_t* ret_num_outputs) {
  *ret_num_outputs = 1;
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerGetNumConstants(
    AOTInductorModelContainerHandle /*container*/, size_t* num_constants) {
  *num_constants = 0;
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerGetCallSpec(AOTInductorModelContainerHandle /*container*/,
                                                      const char** in_spec, const char** out_spec) {
  *in_spec = R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [)"
             R"({"type": "builtins.tuple", "context": "null", "children_spec": [)"
             R"({"type": null, "context": null, "children_spec": []}]}, )"
             R"({"type": "builtins.dict", "context": "[]", "children_spec": []}]}])";
  *out_spec = R"([1, {"type": null, "context": null, "children_spec": []}])";
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerDelete(AOTInductorModelContainerHandle /*container*/) {
  return AOTI_RUNTIME_SUCCESS;
}

// A library without them cannot be loaded. LibTorch calls them to name and to replace weights.

AOTIRuntimeError AOTInductorModelContainerGetConstantName(AOTInductorModelContainerHandle, size_t,
                                                          const char**) {
  return AOTI_RUNTIME_FAILURE;
}

AOTIRuntimeError AOTInductorModelContainerGetConstantOriginalFQN(AOTInductorModelContainerHandle,
                                                                 size_t, const char**) {
  return AOTI_RUNTIME_FAILURE;
}

AOTIRuntimeError AOTInductorModelContainerGetConstantDtype(AOTInductorModelContainerHandle, size_t,
                                                           int32_t*) {
  return AOTI_RUNTIME_FAILURE;
}

AOTIRuntimeError AOTInductorModelContainerUpdateConstantBuffer(AOTInductorModelContainerHandle,
                                                               AOTInductorConstantMapHandle, bool,
                                                               bool) {
  return AOTI_RUNTIME_FAILURE;
}

AOTIRuntimeError AOTInductorModelContainerUpdateInactiveConstantBuffer(
    AOTInductorModelContainerHandle, AOTInductorConstantMapHandle) {
  return AOTI_RUNTIME_FAILURE;
}

AOTIRuntimeError AOTInductorModelContainerRunConstantFolding(AOTInductorModelContainerHandle, bool,
                                                             AOTInductorStreamHandle,
                                                             AOTIProxyExecutorHandle) {
  return AOTI_RUNTIME_FAILURE;
}

AOTIRuntimeError AOTInductorModelContainerSwapConstantBuffer(AOTInductorModelContainerHandle) {
  return AOTI_RUNTIME_FAILURE;
}
}
