#include "ops/core/fields.h"

#include <algorithm>

namespace fathom::ops {
namespace {

constexpr int64_t kLargestExtent = int64_t{1} << 31;

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

std::string indexed(const std::string& place, std::size_t index) {
  return place + '[' + std::to_string(index) + ']';
}

}  // namespace

Fields::Fields(const nlohmann::json& row, std::string place) : row_(row), place_(std::move(place)) {
  if (!row.is_object()) fail("found " + row.dump() + ", expected an object");
}

int64_t Fields::extent(const char* field) { return checked(1, quoted(field), value(field)); }

int64_t Fields::extent(const char* field, int64_t fallback) {
  known_.insert(field);
  return row_.contains(field) ? extent(field) : fallback;
}

std::array<int64_t, 2> Fields::pair(const char* field, int64_t least,
                                    const std::array<int64_t, 2>& fallback) {
  known_.insert(field);
  return row_.contains(field) ? pair(field, least) : fallback;
}

std::array<int64_t, 2> Fields::pair(const char* field, int64_t least) {
  const auto& found = value(field);
  const auto legal = [least](const nlohmann::json& value) {
    return value.is_number_integer() && value >= least && value <= kLargestExtent;
  };
  if (!found.is_array() || found.size() != 2 || !legal(found[0]) || !legal(found[1])) {
    fail('"' + std::string(field) + "\" is " + found.dump() +
         ", expected [height, width] of at least " + std::to_string(least));
  }
  return {found[0].get<int64_t>(), found[1].get<int64_t>()};
}

double Fields::number(const char* field) {
  const auto& found = value(field);
  if (!found.is_number())
    fail('"' + std::string(field) + "\" is " + found.dump() + ", expected a number");
  return found.get<double>();
}

std::vector<int64_t> Fields::sizes(const char* field) {
  return checked_sizes(quoted(field), value(field));
}

std::vector<std::vector<int64_t>> Fields::tensors(const char* field) {
  const auto& found = list(field);
  if (found.empty()) fail(quoted(field) + " is [], expected at least one tensor's extents");
  std::vector<std::vector<int64_t>> all;
  for (std::size_t i = 0; i < found.size(); ++i) {
    all.push_back(checked_sizes(indexed(quoted(field), i), found[i]));
  }
  return all;
}

std::vector<int64_t> Fields::counts(const char* field) {
  const auto& found = list(field);
  std::vector<int64_t> all;
  for (std::size_t i = 0; i < found.size(); ++i) {
    all.push_back(checked(0, indexed(quoted(field), i), found[i]));
  }
  return all;
}

int64_t Fields::count(const char* field) { return checked(0, quoted(field), value(field)); }

double Fields::share(const char* field) {
  const auto& found = value(field);
  if (!found.is_number() || !(found > 0) || !(found < 1)) {
    fail(quoted(field) + " is " + found.dump() + ", expected a number between 0 and 1");
  }
  return found.get<double>();
}

bool Fields::has(const char* field) {
  known_.insert(field);
  return row_.contains(field);
}

bool Fields::flag(const char* field, bool fallback) {
  known_.insert(field);
  if (!row_.contains(field)) return fallback;
  const auto& found = row_.at(field);
  if (!found.is_boolean())
    fail('"' + std::string(field) + "\" is " + found.dump() + ", expected true or false");
  return found.get<bool>();
}

std::string Fields::text(const char* field) {
  const auto& found = value(field);
  if (!found.is_string())
    fail('"' + std::string(field) + "\" is " + found.dump() + ", expected a string");
  return found.get<std::string>();
}

const nlohmann::json& Fields::list(const char* field) {
  const auto& found = value(field);
  if (!found.is_array())
    fail('"' + std::string(field) + "\" is " + found.dump() + ", expected a list");
  return found;
}

std::size_t Fields::choose(const char* field, const std::vector<std::string_view>& allowed) {
  const std::string found = text(field);
  const auto match = std::find(allowed.begin(), allowed.end(), found);
  if (match == allowed.end()) {
    fail('"' + std::string(field) + "\" is \"" + found + "\", expected one of " + join(allowed));
  }
  return static_cast<std::size_t>(match - allowed.begin());
}

int64_t Fields::checked(int64_t least, const std::string& place,
                        const nlohmann::json& found) const {
  if (!found.is_number_integer() || found < least || found > kLargestExtent) {
    fail(place + " is " + found.dump() + ", expected an integer from " + std::to_string(least) +
         " to " + std::to_string(kLargestExtent));
  }
  return found.get<int64_t>();
}

std::vector<int64_t> Fields::checked_sizes(const std::string& place,
                                           const nlohmann::json& found) const {
  if (!found.is_array()) fail(place + " is " + found.dump() + ", expected a list");
  if (found.empty()) fail(place + " is [], expected at least one extent");
  std::vector<int64_t> extents;
  for (std::size_t i = 0; i < found.size(); ++i) {
    extents.push_back(checked(1, indexed(place, i), found[i]));
  }
  return extents;
}

void Fields::done() const {
  for (const auto& [field, unused] : row_.items()) {
    if (!known_.contains(field)) fail("unknown field \"" + field + "\", expected " + join(known_));
  }
}

void Fields::fail(const std::string& what) const { throw ShapeError(place_ + ": " + what); }

const nlohmann::json& Fields::value(const char* field) {
  known_.insert(field);
  if (!row_.contains(field)) fail('"' + std::string(field) + "\" is missing");
  return row_.at(field);
}

}  // namespace fathom::ops
