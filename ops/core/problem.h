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

// What a vendor's library is asked to compute. A problem with a gradient to write is a backward
// pass: there `y` holds the gradient that arrives, and `x` what the forward pass read.

/// c [..., M, N] = a [..., M, K] · b [..., K, N] (+ addend [N] or like c).
struct MatmulProblem {
  Buffer a, b, c;
  std::optional<Buffer> addend = {};
};

/// x [N, C, H, W] and w [K, C / groups, R, S] (+ bias [K]) give y [N, K, P, Q]. One of three is
/// written: y, the gradient to x, or that to w and bias.
struct ConvolutionProblem {
  enum class Writes { kY, kX, kW } writes;
  Buffer x, w, y;
  std::optional<Buffer> bias;
  std::array<int64_t, 2> stride, padding, dilation;
  int64_t groups;
};

/// y [N, C, P, Q] of x [N, C, H, W]. Means are over the taps inside the image.
struct PoolProblem {
  enum class Kind { kMax, kMean } kind;
  Buffer x, y;
  std::array<int64_t, 2> kernel, stride, padding, dilation;
  std::optional<Buffer> dx = {};
};

/// Across channels: y = x / (bias + alpha / size · Σ x²)^beta, of [N, C, H, W].
struct ResponseNormProblem {
  Buffer x, y;
  int64_t size;
  double alpha, beta, bias;
  std::optional<Buffer> dx = {};
};

/// By the batch's own statistics, of [N, C, ...]; weight and bias [C].
struct BatchNormProblem {
  Buffer x, weight, bias, y;
  double epsilon;
  struct Gradients {
    Buffer x, weight, bias;
  };
  std::optional<Gradients> gradients = {};
};

struct SoftmaxProblem {
  Buffer x, y;
  int axis;
  std::optional<Buffer> dx = {};
};

/// An element of each element.
struct UnaryProblem {
  enum class Kind {
    kBetween,  ///< between the two constants
    kLinear,   ///< x · first + second
    kRelu,
    kSigmoid,
    kTanh,
    kExp,
    kSqrt,
    kSquare,
  } kind;
  Buffer x, y;
  std::array<float, 2> constants = {};
  std::optional<Buffer> dx = {};
};

/// Of an element of each; extents of b may be 1 where those of a are not.
struct BinaryProblem {
  enum class Kind { kAdd, kSub, kMul, kDiv } kind;
  Buffer a, b, out;
};

/// y has extents of 1 where x is reduced.
struct ReductionProblem {
  bool mean;
  Buffer x, y;
};

struct ConcatProblem {
  std::vector<Buffer> parts;
  Buffer out;
  int axis;
};

/// From one layout into another.
struct CopyProblem {
  Buffer x, y;
};

/// A layer over x [T, N, I] from states h and c [N, H], with weights [4H, I] and [4H, H] and biases
/// [4H] that add up, gates in the order i, f, g, o: y [T, N, H], its last frame once more where
/// last_h asks for it, and the last c.
struct LstmProblem {
  struct Inputs {
    Buffer x, h, c, input_weight, recurrent_weight;
    std::vector<Buffer> biases;
  };
  Inputs inputs;
  Buffer y, last_c;
  std::optional<Buffer> last_h = {};
  std::optional<Inputs> gradients = {};  ///< with them y and the last states hold those that arrive
};

/// h_t = clip(x_t + recurrent · h_before, 0, most) after h_{t-1} or, reversed, h_{t+1}: x and h
/// [T, N, H], which lie alike, recurrent [H, H]. Backward reads the states and g, their gradient.
struct ClippedRnnProblem {
  double most;
  bool reverse;
  Buffer recurrent, h;
  struct Forward {
    Buffer x;
    std::vector<int64_t> frames;  ///< of each of N; h is 0 after them
  };
  struct Backward {
    Buffer g, dx, drecurrent;
  };
  std::variant<Forward, Backward> pass;
};

/// Connectionist temporal classification with blank 0 over scores [T, N, C], of which a softmax
/// makes probabilities: losses [N], or the gradient to the scores of Σ weights · losses.
struct CtcProblem {
  Buffer scores;
  std::vector<int> labels;  ///< one utterance's after the other's
  std::vector<int> counts;  ///< of each one's labels
  std::vector<int> frames;  ///< of each one
  struct Gradient {
    Buffer weights, dscores;
  };
  std::variant<Buffer, Gradient> wanted;  ///< losses or gradient
};

using Problem =
    std::variant<MatmulProblem, ConvolutionProblem, PoolProblem, ResponseNormProblem,
                 BatchNormProblem, SoftmaxProblem, UnaryProblem, BinaryProblem, ReductionProblem,
                 ConcatProblem, CopyProblem, LstmProblem, ClippedRnnProblem, CtcProblem>;

}  // namespace fathom::ops
