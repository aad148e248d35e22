#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "ops/core/element.h"

namespace fathom::ops {

/// Memory that a caller keeps alive while a kernel runs over it. Strides count elements.
struct Buffer {
  void* data;
  Element element;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

// Problems say what a vendor's library computes. A problem with a gradient to write is a backward
// pass: its `y` holds the gradient of the output, its `x` the input of the forward pass.

/// c [..., M, N] = a [..., M, K] · b [..., K, N] (+ addend [N] or of the shape of c).
struct MatmulProblem {
  Buffer a, b, c;
  std::optional<Buffer> addend = {};
};

/// x [N, C, H, W] and w [K, C / groups, R, S] (+ bias [K]) give y [N, K, P, Q]. `writes` says what
/// is computed: y, the gradient of x, or the gradients of w and bias.
struct ConvolutionProblem {
  enum class Writes { kY, kX, kW } writes;
  Buffer x, w, y;
  std::optional<Buffer> bias;
  std::array<int64_t, 2> stride, padding, dilation;
  int64_t groups;
};

/// The codes of a quantised input: real = scale · (code - zero). Weights have a scale for each
/// output channel and no zero.
struct QuantizationProblem {
  float x_scale;
  int32_t x_zero;
  Buffer w_scales;  ///< fp32 [N], of e4m3 [1]
};

/// The product of a [M, K] in uint8 and b [K, N] in int8, or of both in e4m3, in fp32 (+ bias [N]);
/// or, without `quantization`, of both in int8, whose sums c holds in int32.
struct QuantizedMatmulProblem {
  Buffer a, b, c;
  std::optional<Buffer> bias = {};
  std::optional<QuantizationProblem> quantization = {};
};

/// A forward convolution of x in uint8 with w in int8, in fp32.
struct QuantizedConvolutionProblem {
  ConvolutionProblem convolution;
  QuantizationProblem quantization;
};

/// Max or average pooling of x [N, C, H, W] into y [N, C, P, Q].
struct PoolProblem {
  enum class Kind {
    kMax,
    kMean,        ///< of the taps inside the image
    kPaddedMean,  ///< of all taps, those on padding counted as 0
  } kind;
  Buffer x, y;
  std::array<int64_t, 2> kernel, stride, padding, dilation;
  std::optional<Buffer> dx = {};
};

/// Repeats the pixels of x [N, C, H, W] into y [N, C, P, Q], whose height and width are multiples.
struct UpsampleProblem {
  Buffer x, y;
  std::optional<Buffer> dx = {};  ///< backward reads y alone
};

/// Local response normalization of [N, C, H, W]: y = x / (bias + alpha / size · Σ x²)^beta, with
/// the sum over `size` channels.
struct ResponseNormProblem {
  Buffer x, y;
  int64_t size;
  double alpha, beta, bias;
  std::optional<Buffer> dx = {};
};

/// The gradients that a normalization with weight and bias writes.
struct NormGradients {
  Buffer x, weight, bias;
};

/// Batch normalization of [N, C, ...] with the statistics of the batch or given ones; weight, bias,
/// mean and variance are [C].
struct BatchNormProblem {
  Buffer x, weight, bias, y;
  double epsilon;
  struct Statistics {
    Buffer mean, variance;
  };
  std::optional<Statistics> statistics = {};
  std::optional<NormGradients> gradients = {};
};

/// Normalization of each row of x [N, W] with its own mean and variance; weight and bias are [W].
struct LayerNormProblem {
  Buffer x, weight, bias, y;
  double epsilon;
  std::optional<NormGradients> gradients = {};
};

/// Normalization of each group of channels of a sample of x [N, C, ...] with its own mean and
/// variance; weight and bias are [C].
struct GroupNormProblem {
  Buffer x, weight, bias, y;
  int64_t groups;
  double epsilon;
};

/// Softmax over `axis`, or its logarithm.
struct SoftmaxProblem {
  bool log;
  Buffer x, y;
  int axis;
  std::optional<Buffer> dx = {};
  bool x_is_result = false;  ///< of a gradient: x holds the result of the forward pass
};

/// An element-wise op of one operand.
struct UnaryProblem {
  enum class Kind {
    kClamp,   ///< clamp to the two constants
    kLinear,  ///< x · first + second
    kRelu,
    kSigmoid,
    kTanh,
    kGeluErf,
    kGeluTanh,
    kExp,
    kSqrt,
    kSquare,
    kSwish,     ///< x · sigmoid(x · first)
    kSoftplus,  ///< log(1 + exp(x · first)) / first
  } kind;
  Buffer x, y;
  std::array<float, 2> constants = {};
  std::optional<Buffer> dx = {};
  bool x_is_result = false;  ///< of a gradient: x holds the result; kClamp, kRelu, kSigmoid, kTanh
};

/// An element-wise op of two operands; b is broadcast to the shape of a.
struct BinaryProblem {
  enum class Kind { kAdd, kSub, kMul, kDiv } kind;
  Buffer a, b, out;
};

/// A sum or mean. y has extents of 1 in the dimensions that are reduced.
struct ReductionProblem {
  bool mean;
  Buffer x, y;
};

/// Concatenates `parts` along `axis`.
struct ConcatProblem {
  std::vector<Buffer> parts;
  Buffer out;
  int axis;
};

/// Copies x into y, which may have another layout.
struct CopyProblem {
  Buffer x, y;
};

/// One LSTM layer over x [T, N, I] from the states h and c [N, H]. Weights are [4H, I] and [4H, H],
/// with the gates in the order i, f, g, o; the biases [4H] are summed. Outputs are y [T, N, H], the
/// last c and, where last_h is given, the last frame of y again.
struct LstmProblem {
  struct Inputs {
    Buffer x, h, c, input_weight, recurrent_weight;
    std::vector<Buffer> biases;
  };
  struct Results {
    Buffer y, last_h, last_c;
  };
  Inputs inputs;
  Buffer y, last_c;
  std::optional<Buffer> last_h = {};
  std::optional<Inputs> gradients = {};  ///< backward: y and the last states hold gradients
  /// Backward: of the forward pass, whose workspace the kernel is given, too. Null: it runs the
  /// forward pass once, when it is made.
  std::optional<Results> results = {};
};

/// One GRU layer over x [T, N, I] from the state h [N, H], whose reset gate multiplies the
/// recurrent product. Weights are [3H, I] and [3H, H], with the gates in the order r, z, n; each
/// bias is [3H]. Gives y [T, N, H].
struct GruProblem {
  struct Inputs {
    Buffer x, h, input_weight, recurrent_weight, input_bias, recurrent_bias;
  };
  Inputs inputs;
  Buffer y;
  std::optional<Inputs> gradients = {};  ///< backward: y holds its gradient
};

/// h_t = min(max(x_t + recurrent · h_before, 0), max), where h_before is h_{t-1} or, in reverse,
/// h_{t+1}. x and h are [T, N, H] with the same strides, recurrent is [H, H]. Backward reads h and
/// its gradient g.
struct ClippedRnnProblem {
  double max;
  bool reverse;
  Buffer recurrent, h;
  struct Forward {
    Buffer x;
    std::vector<int64_t> frames;  ///< length of each of the N sequences; h is 0 beyond it
  };
  struct Backward {
    Buffer g, dx, drecurrent;
  };
  std::variant<Forward, Backward> pass;
};

/// Connectionist temporal classification with blank 0 over scores [T, N, C], before the softmax.
/// Computes the losses [N], or the gradient of Σ weights · losses with respect to the scores.
struct CtcProblem {
  Buffer scores;
  std::vector<int> labels;  ///< of all utterances, concatenated
  std::vector<int> counts;  ///< number of labels of each utterance
  std::vector<int> frames;  ///< number of frames of each utterance
  struct Gradient {
    Buffer weights, dscores;
  };
  std::variant<Buffer, Gradient> wanted;  ///< losses or gradient
};

using Problem =
    std::variant<MatmulProblem, ConvolutionProblem, QuantizedMatmulProblem,
                 QuantizedConvolutionProblem, PoolProblem, ResponseNormProblem, BatchNormProblem,
                 LayerNormProblem, GroupNormProblem, SoftmaxProblem, UnaryProblem, BinaryProblem,
                 ReductionProblem, ConcatProblem, CopyProblem, LstmProblem, GruProblem,
                 ClippedRnnProblem, CtcProblem, UpsampleProblem>;

}  // namespace fathom::ops
