#include "ops/core/field_reader.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace fathom::ops {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 31;

template <typename Names>
std::string join(const Names& names) {
  std::string joined;
  for (const auto& name : names) {
    if (!joined.empty()) joined += ", ";
    joined += name;
  }
  return joined;
}

std::string quoted(const char* field) { return '"' + std::string(field) + '"'; }

/// A value in a message. A list may be a whole file, and dump() recurses into what it holds.
std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kMaxShown = 100;  // bytes
  const auto is_structured = [](const nlohmann::json& each) { return each.is_structured(); };
  if (value.is_structured() && std::any_of(value.begin(), value.end(), is_structured))
    return std::string("an ") + value.type_name();
  const std::string text = value.dump();
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...";
}

std::string indexed(const std::string& place, std::size_t index) {
  return place + '[' + std::to_string(index) + ']';
}

bool is_integer(const nlohmann::json& value, int64_t min) {
  return value.is_number_integer() && value >= min && value <= kMaxExtent;
}

}  // namespace

FieldReader::FieldReader(const nlohmann::json& row, std::string place)
    : json_(row), place_(std::move(place)) {
  if (!row.is_object()) fail("found " + shown(row) + ", expected an object");
}

bool FieldReader::has(const char* field) {
  known_.insert(field);
  return json_.contains(field);
}

std::string FieldReader::name_part(const char* field) {
  const std::string found = text(field);
  const auto legal = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (found.empty() || !std::all_of(found.begin(), found.end(), legal))
    refuse(quoted(field), value(field), "letters, digits, _ and - only");
  return found;
}

std::string FieldReader::text(const char* field) {
  const auto& found = value(field);
  if (!found.is_string()) refuse(quoted(field), found, "a string");
  return found.get<std::string>();
}

const nlohmann::json& FieldReader::list(const char* field) {
  const auto& found = value(field);
  if (!found.is_array()) refuse(quoted(field), found, "a list");
  return found;
}

std::map<std::string, double> FieldReader::numbers(const char* field) {
  const auto& found = value(field);
  const auto is_number = [](const nlohmann::json& each) { return each.is_number(); };
  if (!found.is_object() || !std::all_of(found.begin(), found.end(), is_number))
    refuse(quoted(field), found, "an object of numbers");
  return found.get<std::map<std::string, double>>();
}

std::size_t FieldReader::choose(const char* field, const std::vector<std::string_view>& allowed) {
  const auto match = std::find(allowed.begin(), allowed.end(), text(field));
  if (match == allowed.end()) refuse(quoted(field), value(field), "one of " + join(allowed));
  return static_cast<std::size_t>(match - allowed.begin());
}

void FieldReader::done() const {
  for (const auto& [field, unused] : json_.items()) {
    if (!known_.contains(field))
      fail("unknown field " + shown(field) + ", expected " + join(known_));
  }
}

void FieldReader::require(bool holds, const std::string& problem) {
  if (!holds) fail(problem);
}

void FieldReader::fail(const std::string& what) const { throw ShapeError(place_ + ": " + what); }

void FieldReader::refuse(const std::string& field, const nlohmann::json& found,
                         const std::string& expected) const {
  fail(field + " is " + shown(found) + ", expected " + expected);
}

void FieldReader::visit(const FieldSpec& spec, FieldValue& value, const FieldValue* fallback) {
  const bool missing = !has(spec.name);
  value = missing && fallback != nullptr ? *fallback : parsed(spec);
  if (fallback == nullptr || value != *fallback) read_.emplace_back(spec.name, value);
}

FieldValue FieldReader::parsed(const FieldSpec& spec) {
  const nlohmann::json& found = value(spec.name);
  const std::string field = quoted(spec.name);
  switch (spec.kind) {
    case FieldKind::kExtent:
      return integer(1, field, found);
    case FieldKind::kCount:
      return integer(0, field, found);
    case FieldKind::kNumber:
      if (!found.is_number()) refuse(field, found, "a number");
      return found.get<double>();
    case FieldKind::kShare:
      if (!found.is_number() || !(found > 0) || !(found < 1)) {
        refuse(field, found, "a number between 0 and 1");
      }
      return found.get<double>();
    case FieldKind::kFlag:
      if (!found.is_boolean()) refuse(field, found, "true or false");
      return found.get<bool>();
    case FieldKind::kPair:
      if (!found.is_array() || found.size() != 2 || !is_integer(found[0], spec.min) ||
          !is_integer(found[1], spec.min)) {
        refuse(field, found, "[height, width] of at least " + std::to_string(spec.min));
      }
      return Pair{found[0].get<int64_t>(), found[1].get<int64_t>()};
    case FieldKind::kSizes:
      return extents(field, found);
    case FieldKind::kCounts:
      return integers(0, field, list(spec.name));
    case FieldKind::kTensors: {
      if (list(spec.name).empty()) fail(field + " is [], expected at least one tensor's extents");
      std::vector<Sizes> all;
      for (std::size_t i = 0; i < found.size(); ++i) {
        all.push_back(extents(indexed(field, i), found[i]));
      }
      return all;
    }
    case FieldKind::kChoice:
      return std::string(spec.choices[choice(spec.name, spec.choices)]);
  }
  fail(field + " has no kind");
}

int64_t FieldReader::integer(int64_t min, const std::string& field,
                             const nlohmann::json& found) const {
  if (!is_integer(found, min)) {
    refuse(field, found,
           "an integer from " + std::to_string(min) + " to " + std::to_string(kMaxExtent));
  }
  return found.get<int64_t>();
}

Sizes FieldReader::integers(int64_t min, const std::string& field,
                            const nlohmann::json& found) const {
  Sizes all;
  for (std::size_t i = 0; i < found.size(); ++i) {
    all.push_back(integer(min, indexed(field, i), found[i]));
  }
  return all;
}

Sizes FieldReader::extents(const std::string& field, const nlohmann::json& found) const {
  if (!found.is_array()) refuse(field, found, "a list");
  if (found.empty()) fail(field + " is [], expected at least one extent");
  return integers(1, field, found);
}

const nlohmann::json& FieldReader::value(const char* field) {
  if (!has(field)) fail(quoted(field) + " is missing");
  return json_.at(field);
}

}  // namespace fathom::ops
