#include "ops/backends/cuda/cudnn_convolution_arguments.h"

#include <tuple>

#include "ops/backends/cuda/strided_copy.h"

namespace fathom::ops::cuda {

Image::Image(const Buffer& original, cudnnTensorFormat_t layout, cudaStream_t stream)
    : layout_(layout), original_(original), used_(original) {
  if (layout == CUDNN_TENSOR_NCHW) return;
  const auto& sizes = original.sizes;
  used_.strides = {sizes[1] * sizes[2] * sizes[3], 1, sizes[3] * sizes[1], sizes[1]};
  copy_ = allocate(bytes(original));
  used_.data = copy_.get();
  copy_strided(used_, original_, stream);
}

Tensor Image::descriptor() const {
  if (layout_ == CUDNN_TENSOR_NCHW) return tensor(original_);
  const auto& sizes = original_.sizes;
  Tensor made;
  check(cudnnSetTensor4dDescriptor(made, layout_, data_type(original_.element), to_int(sizes[0]),
                                   to_int(sizes[1]), to_int(sizes[2]), to_int(sizes[3])));
  return made;
}

void Image::write_back(cudaStream_t stream) const {
  if (copy_ != nullptr) copy_strided(original_, used_, stream);
}

ConvolutionArguments::ConvolutionArguments(const ConvolutionProblem& problem, const Target& target,
                                           cudnnTensorFormat_t wanted)
    : layout(wanted),
      handle(cudnn_handle(target.stream)),
      x(problem.x, layout, target.stream),
      w(problem.w, layout, target.stream),
      y(problem.y, layout, target.stream),
      x_desc(x.descriptor()),
      y_desc(y.descriptor()) {
  expect_contiguous(problem.w);
  const auto& sizes = problem.w.sizes;
  check(cudnnSetFilter4dDescriptor(w_desc, data_type(problem.w.element), layout, to_int(sizes[0]),
                                   to_int(sizes[1]), to_int(sizes[2]), to_int(sizes[3])));
  const auto& [stride, padding, dilation] =
      std::tie(problem.stride, problem.padding, problem.dilation);
  check(cudnnSetConvolution2dDescriptor(
      convolution, to_int(padding[0]), to_int(padding[1]), to_int(stride[0]), to_int(stride[1]),
      to_int(dilation[0]), to_int(dilation[1]), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  check(cudnnSetConvolutionGroupCount(convolution, to_int(problem.groups)));
  check(cudnnSetConvolutionMathType(convolution, math_type(problem.x.element, target.tf32)));
  check(cudnnSetActivationDescriptor(identity, CUDNN_ACTIVATION_IDENTITY, CUDNN_NOT_PROPAGATE_NAN,
                                     0));
  if (!problem.bias) return;
  expect_contiguous(*problem.bias);
  bias_desc = contiguous_tensor(problem.bias->element, {1, sizes[0], 1, 1});
  bias = problem.bias->data;
}

}  // namespace fathom::ops::cuda
