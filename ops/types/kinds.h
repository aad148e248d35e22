#pragma once

#include <string_view>
#include <vector>

namespace fathom::ops {

/// Fathom's classes of op types (Adolf et al. 2016, figure 3, A to G), and the time between ops.
enum class OpClass {
  kMatrix,
  kConvolution,
  kElementwise,
  kReduction,
  kRandom,
  kOptimization,
  kMovement,
  kFramework,
};

/// As in profiles: "matrix", "convolution", ...
std::string_view name(OpClass op_class);

/// A kind of op by its canonical name, as profiles and benchmark rows call it.
struct OpKind {
  std::string_view name;
  OpClass op_class;
  /// LibTorch's names of it, forward, backward and in place, without "aten::", where they are not
  /// its own. Our own code runs kinds under profiling scopes "op:<name>".
  std::vector<std::string_view> aten = {};
};

/// Every kind. What none of them claims keeps LibTorch's name.
const std::vector<OpKind>& op_kinds();

/// The kind that an op of LibTorch ("aten::mm") or a scope ("op:adam") is of; null for none.
const OpKind* kind_of(std::string_view recorded);

}  // namespace fathom::ops
