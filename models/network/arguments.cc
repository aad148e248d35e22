#include "models/network/arguments.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <array>
#include <optional>

#include "fixtures/files/data_error.h"
#include "fixtures/files/file.h"
#include "fixtures/files/text.h"
#include "fixtures/machine/memory.h"

namespace fathom::models {
namespace {

using c10::IValue;

struct NamedType {
  std::string_view name;
  at::ScalarType type;
};

constexpr std::array<NamedType, 9> kTypes{{
    {"float", at::kFloat},
    {"float32", at::kFloat},
    {"float64", at::kDouble},
    {"float16", at::kHalf},
    {"bfloat16", at::kBFloat16},
    {"int64", at::kLong},
    {"int32", at::kInt},
    {"uint8", at::kByte},
    {"bool", at::kBool},
}};

std::optional<at::ScalarType> type_of(std::string_view name) {
  for (const auto& one : kTypes) {
    if (one.name == name) return one.type;
  }
  return std::nullopt;
}

/// Whether the text describes tensors, rather than naming a file.
bool is_description(std::string_view text) {
  const auto colon = text.find(':');
  return colon != std::string_view::npos && type_of(text.substr(0, colon));
}

at::Tensor drawn(std::string_view text, at::Generator& generator) {
  const auto fail = [&](const std::string& what) {
    throw fixtures::DataError("\"" + std::string(text) + "\": " + what);
  };
  const auto parts = fixtures::split(text, ':');
  const auto type = type_of(parts[0]);
  if (!type)
    fail("no such type, expected float32, float64, float16, bfloat16, int64, int32, uint8 or bool");
  if (parts.size() < 2) fail("has no sizes, expected such as float32:8x3x224x224");
  std::vector<int64_t> sizes;
  int64_t bytes = static_cast<int64_t>(at::elementSize(*type));
  for (const auto part : fixtures::split(parts[1], 'x')) {
    const auto size = fixtures::number(part);
    if (!size || *size < 1 || __builtin_mul_overflow(bytes, *size, &bytes))
      fail("sizes are \"" + std::string(parts[1]) + "\", expected such as 8x3x224x224");
    sizes.push_back(*size);
  }
  fixtures::expect_memory(bytes, "an input of the network", "give smaller sizes");
  if (at::isFloatingType(*type)) {
    if (parts.size() > 2) fail("a bound is for integers, expected type:sizes");
    return at::randn(sizes, generator, at::kFloat).to(*type);
  }
  const auto bound = *type == at::kBool  ? std::optional<int64_t>(2)
                     : parts.size() == 3 ? fixtures::number(parts[2])
                                         : std::nullopt;
  if (!bound || *bound < 1)
    fail("has no bound, expected such as int64:8x128:50257 for integers below 50257");
  return at::randint(*bound, sizes, generator, *type);
}

}  // namespace

IValue read_arguments(const std::string& text) {
  std::vector<IValue> arguments;
  if (is_description(text)) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(0);
    for (const auto part : fixtures::split(text, ','))
      arguments.emplace_back(drawn(part, generator));
    return c10::ivalue::Tuple::create(std::move(arguments));
  }
  constexpr uint64_t kMaxBytes = uint64_t{1} << 36;
  const auto content = fixtures::read_file(text, kMaxBytes);
  IValue value;
  try {
    value = torch::jit::pickle_load({content.begin(), content.end()});
  } catch (const std::exception& error) {
    throw fixtures::DataError(text + ": " + fixtures::first_line(error.what()) +
                              ", expected what torch.save((x, ids), ...) writes of tensors");
  }
  if (value.isTensor()) return c10::ivalue::Tuple::create({value});
  if (value.isTuple()) return value;
  if (!value.isList())
    throw fixtures::DataError(text + ": holds a " + value.tagKind() +
                              ", expected a tensor or a tuple of a network's arguments");
  for (const IValue& one : value.toList()) arguments.push_back(one);
  return c10::ivalue::Tuple::create(std::move(arguments));
}

}  // namespace fathom::models
