#include "ops/fields.h"

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

}  // namespace

Fields::Fields(const nlohmann::json& row, std::string place) : row_(row), place_(std::move(place)) {
  if (!row.is_object()) fail("found " + row.dump() + ", expected an object");
}

int64_t Fields::extent(const char* field) {
  return checked_extent('"' + std::string(field) + '"', value(field));
}

int64_t Fields::count(const char* field) {
  known_.insert(field);
  return row_.contains(field) ? extent(field) : 0;
}

std::vector<int64_t> Fields::sizes(const char* field) {
  const auto& found = list(field);
  if (found.empty()) fail('"' + std::string(field) + "\" is [], expected at least one extent");
  std::vector<int64_t> extents;
  for (std::size_t i = 0; i < found.size(); ++i) {
    extents.push_back(
        checked_extent('"' + std::string(field) + "\"[" + std::to_string(i) + ']', found[i]));
  }
  return extents;
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

int64_t Fields::checked_extent(const std::string& place, const nlohmann::json& found) const {
  if (!found.is_number_integer() || found < 1 || found > kLargestExtent) {
    fail(place + " is " + found.dump() + ", expected an integer from 1 to " +
         std::to_string(kLargestExtent));
  }
  return found.get<int64_t>();
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
