#pragma once

#include <cmath>
#include <cstdint>
#include <variant>

#include "ops/kernels/cuda/host_device.h"

namespace fathom::ops {

// What an optimizer does to an element p of the parameters with its gradient g and its states,
// which start at 0 unless said otherwise. `In<T>` is a rule's arithmetic in type T, without
// LibTorch and CUDA, so that the CPU and a GPU run the very same.

/// p <- p - rate · g.
struct Sgd {
  static constexpr const char* kScope = "op:sgd";
  static constexpr int kStates = 0;
  double rate;

  template <typename T>
  struct In {
    explicit In(const Sgd& rule) : rate(static_cast<T>(rule.rate)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* /*states*/) const { p -= rate * g; }
    T rate;
  };
};

/// velocity <- momentum · velocity + g + decay · p, then p <- p - rate · velocity.
struct Momentum {
  static constexpr const char* kScope = "op:momentum";
  static constexpr int kStates = 1;
  double rate;
  double momentum;
  double decay;

  template <typename T>
  struct In {
    explicit In(const Momentum& rule)
        : rate(static_cast<T>(rule.rate)),
          momentum(static_cast<T>(rule.momentum)),
          decay(static_cast<T>(rule.decay)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      states[0] = momentum * states[0] + (g + decay * p);
      p -= rate * states[0];
    }
    T rate;
    T momentum;
    T decay;
  };
};

/// Kingma and Ba 2015, algorithm 1: the means of g and g², of which each is divided by what it
/// lacks, since it started at 0.
struct Adam {
  static constexpr const char* kScope = "op:adam";
  static constexpr int kStates = 2;
  double rate;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  int64_t step = 1;  ///< this one; the first is 1

  template <typename T>
  struct In {
    explicit In(const Adam& rule)
        : beta1(static_cast<T>(rule.beta1)),
          beta2(static_cast<T>(rule.beta2)),
          rest1(static_cast<T>(1 - rule.beta1)),
          rest2(static_cast<T>(1 - rule.beta2)),
          rate(static_cast<T>(rule.rate / lacks(rule.beta1, rule.step))),
          root(static_cast<T>(1 / std::sqrt(lacks(rule.beta2, rule.step)))),
          epsilon(static_cast<T>(rule.epsilon)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      using std::sqrt;
      states[0] = beta1 * states[0] + rest1 * g;
      states[1] = beta2 * states[1] + rest2 * g * g;
      p -= rate * states[0] / (sqrt(states[1]) * root + epsilon);
    }
    static double lacks(double beta, int64_t step) {
      return 1 - std::pow(beta, static_cast<double>(step));
    }
    T beta1;
    T beta2;
    T rest1;
    T rest2;
    T rate;
    T root;
    T epsilon;
  };
};

/// Duchi, Hazan and Singer 2011, over slope = g + decay · p: sum <- sum + slope², then
/// p <- p - rate · slope / (sqrt(sum) + epsilon).
struct Adagrad {
  static constexpr const char* kScope = "op:adagrad";
  static constexpr int kStates = 1;
  double rate;
  double decay;
  double epsilon = 1e-10;

  template <typename T>
  struct In {
    explicit In(const Adagrad& rule)
        : rate(static_cast<T>(rule.rate)),
          decay(static_cast<T>(rule.decay)),
          epsilon(static_cast<T>(rule.epsilon)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      using std::sqrt;
      const T slope = g + decay * p;
      states[0] += slope * slope;
      p -= rate * slope / (sqrt(states[0]) + epsilon);
    }
    T rate;
    T decay;
    T epsilon;
  };
};

/// RMSProp in TensorFlow's form: mean_square <- decay · mean_square + (1 - decay) · g², then
/// p <- p - rate · g / sqrt(mean_square + epsilon). TensorFlow starts mean_square at 1; LibTorch
/// starts it at 0 and adds epsilon outside the root.
struct RmsProp {
  static constexpr const char* kScope = "op:rmsprop";
  static constexpr int kStates = 1;
  double rate;
  double decay;
  double epsilon;

  template <typename T>
  struct In {
    explicit In(const RmsProp& rule)
        : rate(static_cast<T>(rule.rate)),
          decay(static_cast<T>(rule.decay)),
          rest(static_cast<T>(1 - rule.decay)),
          epsilon(static_cast<T>(rule.epsilon)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      using std::sqrt;
      states[0] = decay * states[0] + rest * g * g;
      p -= rate * g / sqrt(states[0] + epsilon);
    }
    T rate;
    T decay;
    T rest;
    T epsilon;
  };
};

using UpdateRule = std::variant<Sgd, Momentum, Adam, Adagrad, RmsProp>;

/// Where a tensor's elements lie: the parameter's, its gradient's, then its states'.
template <typename S>
struct UpdateLists {
  static constexpr int kMost = 4;
  S* at[kMost];
};

/// Element i of tensors of type S.
template <typename Rule, typename T, typename S>
FATHOM_HOST_DEVICE inline void update_element(const typename Rule::template In<T>& rule,
                                              const UpdateLists<S>& lists, int64_t i) {
  T states[Rule::kStates + 1];  // one more, as there are no arrays of none
  T p = static_cast<T>(lists.at[0][i]);
  FATHOM_UNROLL
  for (int s = 0; s < Rule::kStates; ++s) states[s] = static_cast<T>(lists.at[2 + s][i]);
  rule.apply(static_cast<T>(lists.at[1][i]), p, states);
  lists.at[0][i] = static_cast<S>(p);
  FATHOM_UNROLL
  for (int s = 0; s < Rule::kStates; ++s) lists.at[2 + s][i] = static_cast<S>(states[s]);
}

}  // namespace fathom::ops
