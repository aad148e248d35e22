#include "ops/core/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string>

namespace fathom::ops {
namespace {

class FieldWriter final : public Fields {
 public:
  FieldRow row;

 protected:
  void visit(const FieldSpec& spec, FieldValue& value, const FieldValue* fallback) override {
    if (fallback == nullptr || value != *fallback) row.emplace_back(spec.name, value);
  }
};

std::string takes(const FieldSpec& spec) {
  switch (spec.kind) {
    case FieldKind::kExtent:
      return "integer from 1";
    case FieldKind::kCount:
      return "integer from 0";
    case FieldKind::kNumber:
      return "number";
    case FieldKind::kShare:
      return "number between 0 and 1";
    case FieldKind::kFlag:
      return "true or false";
    case FieldKind::kPair:
      return "[height, width]";
    case FieldKind::kSizes:
      return "[extent, ...]";
    case FieldKind::kCounts:
      return "[integer from 0, ...]";
    case FieldKind::kTensors:
      return "[[extent, ...], ...]";
    case FieldKind::kChoice: {
      std::string all;
      for (const auto one : spec.choices) all.append(all.empty() ? "" : " or ").append(one);
      return all;
    }
  }
  return "";
}

/// Describes each field and sets it to a small valid value, so that the checks between fields can
/// run.
class FieldDescriber final : public Fields {
 public:
  std::vector<FieldDescription> fields;

 protected:
  void visit(const FieldSpec& spec, FieldValue& value, const FieldValue* fallback) override {
    std::string default_text;
    if (fallback != nullptr)
      default_text = *spec.same_as != '\0' ? spec.same_as : json_text(*fallback);
    fields.push_back({spec.name, takes(spec), default_text});
    if (fallback != nullptr) {
      value = *fallback;
    } else if (spec.kind == FieldKind::kExtent) {
      value = int64_t{1};
    } else if (spec.kind == FieldKind::kPair) {
      value = Pair{1, 1};
    } else if (spec.kind == FieldKind::kSizes) {
      value = Sizes{1, 1, 1, 1};
    } else if (spec.kind == FieldKind::kTensors) {
      value = std::vector<Sizes>{{1}};
    } else if (spec.kind == FieldKind::kChoice) {
      value = std::string(spec.choices.front());
    }
  }
};

std::string json(bool value) { return value ? "true" : "false"; }

std::string json(int64_t value) { return std::to_string(value); }

std::string json(const std::string& name) { return '"' + name + '"'; }

/// The shortest text that reads back as the same number, with a decimal point.
std::string json(double value) {
  std::array<char, 512> text{};
  std::string number(text.data(),
                     std::to_chars(text.begin(), text.end(), value, std::chars_format::fixed).ptr);
  return number.find('.') == std::string::npos ? number + ".0" : number;
}

template <typename List>
requires requires(const List& list) { list.begin(); }
std::string json(const List& list) {
  std::string text;
  for (const auto& value : list) text += (text.empty() ? "" : ",") + json(value);
  return '[' + text + ']';
}

}  // namespace

FieldRow written(void (*visit)(void* shape, Fields& fields), void* shape) {
  FieldWriter writer;
  visit(shape, writer);
  return std::move(writer.row);
}

void FieldLoader::visit(const FieldSpec& spec, FieldValue& value, const FieldValue* fallback) {
  const auto found = std::ranges::find(row_, spec.name, &FieldRow::value_type::first);
  if (found == row_.end() && fallback == nullptr) {
    throw std::logic_error("\"" + std::string(spec.name) + "\" is missing in " + json_text(row_));
  }
  value = found == row_.end() ? *fallback : found->second;
}

std::vector<FieldDescription> described(const std::function<void(Fields& fields)>& visit) {
  FieldDescriber describer;
  visit(describer);
  return std::move(describer.fields);
}

std::string json_text(const FieldValue& value) {
  return std::visit([](const auto& held) { return json(held); }, value);
}

std::string json_text(const FieldRow& row) {
  std::string text;
  for (const auto& [name, value] : row) {
    text += (text.empty() ? "\"" : ",\"") + name + "\":" + json_text(value);
  }
  return '{' + text + '}';
}

}  // namespace fathom::ops
