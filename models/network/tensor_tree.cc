#include "models/network/tensor_tree.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

namespace fathom::models {
namespace {

using c10::IValue;

void collect(const IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) tensors.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const auto& one : value.toTupleRef().elements()) collect(one, tensors);
  } else if (value.isList()) {
    for (const IValue& one : value.toList()) collect(one, tensors);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) collect(entry.value(), tensors);
  }
}

/// The type of the elements of a type of a list or a dictionary; null: any.
c10::TypePtr contained(const c10::TypePtr& type, c10::TypeKind kind, std::size_t index) {
  if (type == nullptr) return nullptr;
  if (type->kind() == c10::TypeKind::OptionalType)
    return contained(type->containedType(0), kind, index);
  return type->kind() == kind && index < type->containedTypeSize() ? type->containedType(index)
                                                                   : nullptr;
}

}  // namespace

std::vector<at::Tensor> tensors_in(const IValue& value) {
  std::vector<at::Tensor> tensors;
  collect(value, tensors);
  return tensors;
}

IValue with_tensors(const IValue& value, const at::Tensor*& next, const c10::TypePtr& type) {
  if (value.isTensor()) return value.toTensor().defined() ? IValue(*next++) : value;
  if (value.isTuple()) {
    const auto& old = value.toTupleRef().elements();
    std::vector<IValue> elements;
    for (std::size_t i = 0; i < old.size(); ++i)
      elements.push_back(with_tensors(old[i], next, contained(type, c10::TypeKind::TupleType, i)));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isList()) {
    const auto old = value.toList();
    const auto element = contained(type, c10::TypeKind::ListType, 0);
    c10::impl::GenericList list(element == nullptr ? old.elementType() : element);
    for (const IValue& one : old) list.push_back(with_tensors(one, next, element));
    return list;
  }
  if (value.isGenericDict()) {
    const auto old = value.toGenericDict();
    const auto key = contained(type, c10::TypeKind::DictType, 0);
    const auto element = contained(type, c10::TypeKind::DictType, 1);
    c10::impl::GenericDict dict(key == nullptr ? old.keyType() : key,
                                element == nullptr ? old.valueType() : element);
    for (const auto& entry : old)
      dict.insert(entry.key(), with_tensors(entry.value(), next, element));
    return dict;
  }
  return value;
}

}  // namespace fathom::models
