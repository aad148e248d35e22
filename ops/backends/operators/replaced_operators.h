#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/backends/operators/call_key.h"
#include "ops/backends/operators/chosen_kernels.h"

namespace fathom::ops {

/// The results of a call, in its schema's order. One that is not wanted is undefined.
using Results = std::vector<at::Tensor>;

/// Runs a call. Nothing where there is no kernel for it.
using Attempt = std::optional<Results> (*)(Arguments in, const CallKey& key);

/// A kernel in place of LibTorch's on the CPU.
struct Replacement {
  const char* op;  ///< the operator without "aten::", of the overload without a name
  Attempt run;
  /// Of a gradient: the operator of the forward pass whose results only a gradient of the same
  /// backend can read. Null: there is none.
  const char* forward = nullptr;
  void (*forget)(const CallKey& key) = nullptr;  ///< frees what `run` keeps for a key
  const char* backend = "";                      ///< whose kernel it is, as "onednn"
};

namespace onednn {
/// oneDNN's, called directly.
std::vector<Replacement> operators();
}  // namespace onednn

/// This project's: products of few rows, such as a language model's decoding runs, and attention of
/// one query.
std::vector<Replacement> native_operators();

/// Which kernel a call runs.
enum class Choice {
  kFirst,    ///< the first replacement that has one, else LibTorch's
  kFastest,  ///< the fastest, LibTorch's included: calls with one key take turns and are timed
};

/// Registers the replacements for the rest of the process; a second call changes nothing. With
/// `recorded`, the kernels of an earlier choice, Choice::kFastest times nothing: a call that is not
/// among them runs LibTorch's.
void replace_operators(const std::vector<Replacement>& replacements, Choice choice,
                       const std::vector<ChosenKernel>* recorded = nullptr);

/// The operators of which a call has run a replacement.
std::set<std::string> replaced_operators();

/// Whether the kernels of Choice::kFastest take turns, as at first, or calls run the fastest so
/// far.
void take_turns(bool turns);

/// Ends a round of calls. The first one is number 0.
Round end_round();

/// Ends the choice and returns the kernels of the calls in a round. Operators that run LibTorch's
/// kernels, or save less than it costs to replace them, lose their replacements. Of the other
/// operators, calls that were not in the round run LibTorch's kernel from then on.
std::vector<ChosenKernel> end_choice(int round);

/// Runs `registrations` of kernels without LibTorch's warning that they replace others.
void without_replacement_warning(const std::function<void()>& registrations);

}  // namespace fathom::ops
