#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include "ops/kernels/cuda/host_device.h"

namespace fathom::ops {

// Update rules for one element p of the parameters, with its gradient g and the optimizer's states,
// which start at 0 unless a rule says otherwise. `In<T>` computes a rule in type T. It includes
// neither LibTorch nor CUDA, so that the CPU and a GPU run the same arithmetic.

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

/// velocity <- momentum · velocity + g + weight_decay · p, then p <- p - rate · velocity.
struct Momentum {
  static constexpr const char* kScope = "op:momentum";
  static constexpr int kStates = 1;
  double rate;
  double momentum;
  double weight_decay;

  template <typename T>
  struct In {
    explicit In(const Momentum& rule)
        : rate(static_cast<T>(rule.rate)),
          momentum(static_cast<T>(rule.momentum)),
          weight_decay(static_cast<T>(rule.weight_decay)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      states[0] = momentum * states[0] + (g + weight_decay * p);
      p -= rate * states[0];
    }
    T rate;
    T momentum;
    T weight_decay;
  };
};

/// Nesterov's momentum in the form of Sutskever et al. 2013, section 2, as torch::optim has it,
/// over slope = g + weight_decay · p: velocity <- momentum · velocity + slope, then p <- p - rate ·
/// (slope + momentum · velocity).
struct Nesterov {
  static constexpr const char* kScope = "op:nesterov";
  static constexpr int kStates = 1;
  double rate;
  double momentum;
  double weight_decay;

  template <typename T>
  struct In {
    explicit In(const Nesterov& rule)
        : rate(static_cast<T>(rule.rate)),
          momentum(static_cast<T>(rule.momentum)),
          weight_decay(static_cast<T>(rule.weight_decay)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      const T slope = g + weight_decay * p;
      states[0] = momentum * states[0] + slope;
      p -= rate * (slope + momentum * states[0]);
    }
    T rate;
    T momentum;
    T weight_decay;
  };
};

/// Kingma and Ba 2015, algorithm 1: bias-corrected first and second moments.
struct Adam {
  static constexpr const char* kScope = "op:adam";
  static constexpr int kStates = 2;
  double rate;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  int64_t step = 1;    ///< the number of this step, from 1
  double warm_up = 0;  ///< steps; 0: the rate is constant

  /// Vaswani et al. 2017, equation 3: rate · min(1 / √step, step / warm_up^1.5).
  double rate_of_step() const {
    if (warm_up == 0) return rate;
    const auto number = static_cast<double>(step);
    return rate * std::min(1 / std::sqrt(number), number * std::pow(warm_up, -1.5));
  }

  template <typename T>
  struct In {
    explicit In(const Adam& rule)
        : beta1(static_cast<T>(rule.beta1)),
          beta2(static_cast<T>(rule.beta2)),
          one_minus_beta1(static_cast<T>(1 - rule.beta1)),
          one_minus_beta2(static_cast<T>(1 - rule.beta2)),
          rate(static_cast<T>(rule.rate_of_step() / bias_correction(rule.beta1, rule.step))),
          root(static_cast<T>(1 / std::sqrt(bias_correction(rule.beta2, rule.step)))),
          epsilon(static_cast<T>(rule.epsilon)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      using std::sqrt;
      states[0] = beta1 * states[0] + one_minus_beta1 * g;
      states[1] = beta2 * states[1] + one_minus_beta2 * g * g;
      p -= rate * states[0] / (sqrt(states[1]) * root + epsilon);
    }
    static double bias_correction(double beta, int64_t step) {
      return 1 - std::pow(beta, static_cast<double>(step));
    }
    T beta1;
    T beta2;
    T one_minus_beta1;
    T one_minus_beta2;
    T rate;
    T root;
    T epsilon;
  };
};

/// Loshchilov and Hutter 2019, algorithm 2: p <- p - rate · weight_decay · p, then the step of
/// Adam.
struct AdamW {
  static constexpr const char* kScope = "op:adamw";
  static constexpr int kStates = 2;
  double rate;
  double weight_decay;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  int64_t step = 1;  ///< the number of this step, from 1

  template <typename T>
  struct In {
    explicit In(const AdamW& rule)
        : kept(static_cast<T>(1 - rule.rate * rule.weight_decay)),
          adam(Adam{rule.rate, rule.beta1, rule.beta2, rule.epsilon, rule.step}) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      p *= kept;
      adam.apply(g, p, states);
    }
    T kept;
    Adam::In<T> adam;
  };
};

/// Duchi, Hazan and Singer 2011, over slope = g + weight_decay · p: sum <- sum + slope², then
/// p <- p - rate · slope / (sqrt(sum) + epsilon).
struct Adagrad {
  static constexpr const char* kScope = "op:adagrad";
  static constexpr int kStates = 1;
  double rate;
  double weight_decay;
  double epsilon = 1e-10;

  template <typename T>
  struct In {
    explicit In(const Adagrad& rule)
        : rate(static_cast<T>(rule.rate)),
          weight_decay(static_cast<T>(rule.weight_decay)),
          epsilon(static_cast<T>(rule.epsilon)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      using std::sqrt;
      const T slope = g + weight_decay * p;
      states[0] += slope * slope;
      p -= rate * slope / (sqrt(states[0]) + epsilon);
    }
    T rate;
    T weight_decay;
    T epsilon;
  };
};

/// RMSProp in TensorFlow's form: mean_square <- alpha · mean_square + (1 - alpha) · g², then
/// p <- p - rate · g / sqrt(mean_square + epsilon). TensorFlow starts mean_square at 1; LibTorch
/// starts it at 0 and adds epsilon outside the root.
struct RmsProp {
  static constexpr const char* kScope = "op:rmsprop";
  static constexpr int kStates = 1;
  double rate;
  double alpha;
  double epsilon;

  template <typename T>
  struct In {
    explicit In(const RmsProp& rule)
        : rate(static_cast<T>(rule.rate)),
          alpha(static_cast<T>(rule.alpha)),
          one_minus_alpha(static_cast<T>(1 - rule.alpha)),
          epsilon(static_cast<T>(rule.epsilon)) {}
    FATHOM_HOST_DEVICE void apply(T g, T& p, T* states) const {
      using std::sqrt;
      states[0] = alpha * states[0] + one_minus_alpha * g * g;
      p -= rate * g / sqrt(states[0] + epsilon);
    }
    T rate;
    T alpha;
    T one_minus_alpha;
    T epsilon;
  };
};

using UpdateRule = std::variant<Sgd, Momentum, Nesterov, Adam, AdamW, Adagrad, RmsProp>;

/// Pointers to the elements of a parameter, its gradient and its states, in this order.
template <typename S>
struct UpdateLists {
  static constexpr int kMaxLists = 4;
  S* data[kMaxLists];
};

/// Updates element i of tensors of type S; computes in type T.
template <typename Rule, typename T, typename S>
FATHOM_HOST_DEVICE inline void update_element(const typename Rule::template In<T>& rule,
                                              const UpdateLists<S>& lists, int64_t i) {
  T states[Rule::kStates + 1];  // + 1, because an array cannot be empty
  T p = static_cast<T>(lists.data[0][i]);
  FATHOM_UNROLL
  for (int s = 0; s < Rule::kStates; ++s) states[s] = static_cast<T>(lists.data[2 + s][i]);
  rule.apply(static_cast<T>(lists.data[1][i]), p, states);
  lists.data[0][i] = static_cast<S>(p);
  FATHOM_UNROLL
  for (int s = 0; s < Rule::kStates; ++s) lists.data[2 + s][i] = static_cast<S>(states[s]);
}

}  // namespace fathom::ops
