#include "ops/backends/operators/call_key.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <sstream>

namespace fathom::ops {
namespace {

/// Finds tensors that share memory.
class Memory {
 public:
  /// The first of the tensors so far that has this one's memory; their number where none has.
  int64_t place(const at::Tensor& tensor) {
    const void* data = tensor.has_storage() ? tensor.const_data_ptr() : nullptr;
    const auto found = std::find(seen_.begin(), seen_.end(), data) - seen_.begin();
    seen_.push_back(data);
    return found;
  }

 private:
  std::vector<const void*> seen_;
};

bool is_tensor(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

void add(CallKey& key, c10::IntArrayRef values) {
  key.push_back(static_cast<int64_t>(values.size()));
  key.insert(key.end(), values.begin(), values.end());
}

void add(CallKey& key, const c10::IValue& value, Memory& memory) {
  if (is_tensor(value)) {
    const at::Tensor& tensor = value.toTensor();
    key.push_back(static_cast<int64_t>(tensor.scalar_type()));
    add(key, tensor.sizes());
    if (tensor.layout() == at::kStrided) add(key, tensor.strides());
    key.push_back(memory.place(tensor));
  } else if (value.isInt()) {
    key.push_back(value.toInt());
  } else if (value.isBool()) {
    key.push_back(value.toBool() ? 1 : 0);
  } else if (value.isDouble()) {
    key.push_back(std::bit_cast<int64_t>(value.toDouble()));
  } else if (value.isIntList()) {
    add(key, value.toIntVector());
  } else if (value.isBoolList()) {
    for (const bool one : value.toBoolList()) key.push_back(one ? 1 : 0);
  } else {
    key.push_back(-1);  // none
  }
}

std::string list(c10::IntArrayRef values, char open, char close) {
  std::string text(1, open);
  for (const auto value : values)
    text.append(text.size() == 1 ? "" : ",").append(std::to_string(value));
  return text + close;
}

std::string text_of(const at::Tensor& tensor) {
  std::string text = c10::toString(tensor.scalar_type());
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  text += list(tensor.sizes(), '[', ']');
  const bool strided = tensor.layout() == at::kStrided;
  if (!strided) text += "sparse";
  // Also where only a dimension of size 1 has another stride: it makes another key.
  if (strided && tensor.strides() != c10::IntArrayRef(c10::contiguous_strides(tensor.sizes())))
    text += list(tensor.strides(), '{', '}');
  return text;
}

}  // namespace

CallKey key_of(Arguments in) {
  CallKey key{at::get_num_threads()};
  Memory memory;
  for (const auto& value : in) add(key, value, memory);
  return key;
}

std::string text_of(Arguments in) {
  std::ostringstream text;
  std::vector<std::size_t> tensors;  // their arguments
  Memory memory;
  text << std::boolalpha;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (i > 0) text << ' ';
    if (is_tensor(in[i])) {
      const auto place = static_cast<std::size_t>(memory.place(in[i].toTensor()));
      text << text_of(in[i].toTensor());
      if (place < tensors.size()) text << '=' << tensors[place];
      tensors.push_back(i);
    } else if (in[i].isIntList()) {
      text << list(in[i].toIntVector(), '[', ']');
    } else if (in[i].isInt()) {
      text << in[i].toInt();
    } else if (in[i].isBool()) {
      text << in[i].toBool();
    } else if (in[i].isDouble()) {
      text << in[i].toDouble();
    } else if (in[i].isBoolList()) {
      std::string flags;
      for (const bool one : in[i].toBoolList()) flags += one ? '1' : '0';
      text << flags;
    } else {
      text << '-';
    }
  }
  return text.str();
}

}  // namespace fathom::ops
