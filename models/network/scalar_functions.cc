#include "models/network/scalar_functions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace fathom::models {
namespace {

using c10::IValue;
using torch::jit::Stack;

bool is_integral(const IValue& value) { return value.isInt() || value.isBool(); }

int64_t integer(const IValue& value) {
  return value.isBool() ? static_cast<int64_t>(value.toBool()) : value.toInt();
}

double real_number(const IValue& value) {
  return is_integral(value) ? static_cast<double>(integer(value)) : value.toDouble();
}

/// Replaces the last `Count` values of the stack by what `function` makes of them.
template <int Count, typename Function>
void apply(Stack& stack, Function function) {
  const auto first = stack.end() - Count;
  IValue result = function(&*first);
  stack.erase(first, stack.end());
  stack.push_back(std::move(result));
}

/// A function of two integers or, where one of them is not, of two real numbers.
template <typename Function>
void binary(Stack& stack) {
  apply<2>(stack, [](const IValue* at) -> IValue {
    if (is_integral(at[0]) && is_integral(at[1])) return Function()(integer(at[0]), integer(at[1]));
    return Function()(real_number(at[0]), real_number(at[1]));
  });
}

template <typename Function>
void unary(Stack& stack) {
  apply<1>(stack, [](const IValue* at) -> IValue {
    if (is_integral(at[0])) return Function()(integer(at[0]));
    return Function()(real_number(at[0]));
  });
}

// Integers wrap around: a damaged file must not be undefined behaviour.

struct Add {
  int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  double operator()(double a, double b) const { return a + b; }
};

struct Multiply {
  int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  double operator()(double a, double b) const { return a * b; }
};

struct Negate {
  int64_t operator()(int64_t a) const { return Multiply()(a, -1); }
  double operator()(double a) const { return -a; }
};

struct Subtract {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    return Add()(a, Negate()(b));
  }
};

template <typename Number>
void expect_divisor(Number divisor) {
  if (divisor == 0) throw std::runtime_error("division by zero");
}

/// Rounds down, as in Python.
struct FloorDivide {
  int64_t operator()(int64_t a, int64_t b) const {
    expect_divisor(b);
    if (b == -1) return Negate()(a);
    return a / b - static_cast<int64_t>(a % b != 0 && (a < 0) != (b < 0));
  }
  double operator()(double a, double b) const {
    expect_divisor(b);
    return std::floor(a / b);
  }
};

/// Has the sign of the divisor, as in Python.
struct Modulo {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    return Subtract()(a, Multiply()(FloorDivide()(a, b), b));
  }
};

struct Divide {
  template <typename Number>
  double operator()(Number a, Number b) const {
    expect_divisor(b);
    return static_cast<double>(a) / static_cast<double>(b);
  }
};

struct Power {
  IValue operator()(int64_t base, int64_t exponent) const {
    if (exponent < 0) return std::pow(static_cast<double>(base), static_cast<double>(exponent));
    int64_t power = 1;
    for (int64_t square = base; exponent > 0; exponent /= 2, square = Multiply()(square, square))
      if (exponent % 2 == 1) power = Multiply()(power, square);
    return power;
  }
  IValue operator()(double base, double exponent) const { return std::pow(base, exponent); }
};

struct Truncate {
  int64_t operator()(int64_t a) const { return a; }
  int64_t operator()(double a) const {
    if (!(std::abs(a) < 0x1p63)) throw std::runtime_error("a number is too large for an integer");
    return static_cast<int64_t>(a);
  }
};

struct Floor {
  template <typename Number>
  int64_t operator()(Number a) const {
    return Truncate()(std::is_integral_v<Number> ? a : static_cast<Number>(std::floor(a)));
  }
};

struct Ceil {
  template <typename Number>
  int64_t operator()(Number a) const {
    return Truncate()(std::is_integral_v<Number> ? a : static_cast<Number>(std::ceil(a)));
  }
};

struct Max {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    return std::max(a, b);
  }
};

struct Min {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    return std::min(a, b);
  }
};

struct Real {
  template <typename Number>
  double operator()(Number a) const {
    return static_cast<double>(a);
  }
};

struct SquareRoot {
  template <typename Number>
  double operator()(Number a) const {
    return std::sqrt(static_cast<double>(a));
  }
};

struct Same {
  template <typename Number>
  Number operator()(Number a) const {
    return a;
  }
};

template <bool Or>
void logic(Stack& stack) {
  apply<2>(stack, [](const IValue* at) -> IValue {
    const int64_t a = integer(at[0]);
    const int64_t b = integer(at[1]);
    const int64_t bits = Or ? a | b : a & b;
    return at[0].isBool() && at[1].isBool() ? IValue(bits != 0) : IValue(bits);
  });
}

void negation(Stack& stack) {
  apply<1>(stack, [](const IValue* at) -> IValue { return integer(at[0]) == 0; });
}

void choice(Stack& stack) {
  apply<3>(stack, [](const IValue* at) { return integer(at[0]) != 0 ? at[1] : at[2]; });
}

}  // namespace

ScalarFunction scalar_function(const std::string& target) {
  // Those of _SYM_OPS in torch/_export/serde/serialize.py.
  static const std::map<std::string, ScalarFunction> functions{
      {"_operator.add", binary<Add>},
      {"_operator.sub", binary<Subtract>},
      {"_operator.mul", binary<Multiply>},
      {"_operator.floordiv", binary<FloorDivide>},
      {"_operator.mod", binary<Modulo>},
      {"_operator.truediv", binary<Divide>},
      {"_operator.pow", binary<Power>},
      {"_operator.neg", unary<Negate>},
      {"_operator.pos", unary<Same>},
      {"_operator.eq", binary<std::equal_to<>>},
      {"_operator.ne", binary<std::not_equal_to<>>},
      {"_operator.lt", binary<std::less<>>},
      {"_operator.le", binary<std::less_equal<>>},
      {"_operator.gt", binary<std::greater<>>},
      {"_operator.ge", binary<std::greater_equal<>>},
      {"_operator.and_", logic</*Or=*/false>},
      {"_operator.or_", logic</*Or=*/true>},
      {"math.trunc", unary<Truncate>},
      {"math.floor", unary<Floor>},
      {"math.ceil", unary<Ceil>},
      {"torch.sym_int", unary<Truncate>},
      {"torch.sym_float", unary<Real>},
      {"torch.sym_max", binary<Max>},
      {"torch.sym_min", binary<Min>},
      {"torch.sym_not", negation},
      {"torch.sym_ite", choice},
      {"torch._sym_sqrt", unary<SquareRoot>},
  };
  const auto found = functions.find(target);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace fathom::models
