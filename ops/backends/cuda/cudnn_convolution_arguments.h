#pragma once

#include "ops/backends/cuda/cudnn_descriptors.h"

namespace fathom::ops::cuda {

/// A buffer [N, C, H, W] of a problem, or a copy of it in NHWC.
class Image {
 public:
  Image(const Buffer& original, cudnnTensorFormat_t layout, cudaStream_t stream);

  void* data() const { return used_.data; }

  /// Names the layout, which strides alone do not tell where extents are 1.
  Tensor descriptor() const;

  /// Copies the elements into the problem's buffer where this is a copy.
  void write_back(cudaStream_t stream) const;

 private:
  cudnnTensorFormat_t layout_;
  Buffer original_;
  Buffer used_;
  Memory copy_;
};

using Filter =
    Descriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using Convolution = Descriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                               cudnnDestroyConvolutionDescriptor>;

/// What cuDNN's calls of a convolution take, with images and weights in one layout. Throws
/// NotSupported where cuDNN does not support them.
struct ConvolutionArguments {
  ConvolutionArguments(const ConvolutionProblem& problem, const Target& target,
                       cudnnTensorFormat_t wanted);

  cudnnTensorFormat_t layout;
  cudnnHandle_t handle;
  Image x, w, y;
  Tensor x_desc, y_desc, bias_desc;
  Filter w_desc;
  Convolution convolution;
  Activation identity;
  void* bias = nullptr;  ///< null without a bias
};

}  // namespace fathom::ops::cuda
