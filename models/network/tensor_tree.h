#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

namespace fathom::models {

/// The tensors in a value of tuples, lists and dictionaries, in order.
std::vector<at::Tensor> tensors_in(const c10::IValue& value);

/// The same value with other tensors, and with the types of lists and dictionaries that `type` asks
/// for; null: any. Takes the tensors from `next` on, and moves it behind them.
c10::IValue with_tensors(const c10::IValue& value, const at::Tensor*& next,
                         const c10::TypePtr& type = nullptr);

}  // namespace fathom::models
