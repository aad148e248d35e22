#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace fathom::ops {

/// A shape file cannot be used; says the file, the place, what was found and what was expected.
class ShapeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The fields of one shape row, read by name. Every miss is a ShapeError that names `place` and the
/// field.
class Fields {
 public:
  Fields(const nlohmann::json& row, std::string place);

  /// An extent, 1 .. 2^31.
  int64_t extent(const char* field);
  int64_t extent(const char* field, int64_t fallback);
  /// {height, width}, each at least `least`.
  std::array<int64_t, 2> pair(const char* field, int64_t least);
  std::array<int64_t, 2> pair(const char* field, int64_t least,
                              const std::array<int64_t, 2>& fallback);
  double number(const char* field);
  /// A tensor's extents, at least one.
  std::vector<int64_t> sizes(const char* field);
  /// Extents of several tensors, at least one tensor.
  std::vector<std::vector<int64_t>> tensors(const char* field);
  /// Integers, 0 .. 2^31: dimensions or paddings.
  std::vector<int64_t> counts(const char* field);
  int64_t count(const char* field);
  /// A part of all, above 0 and below 1.
  double share(const char* field);
  /// Whether an optional field is there.
  bool has(const char* field);
  bool flag(const char* field, bool fallback = false);
  std::string text(const char* field);
  const nlohmann::json& list(const char* field);
  /// One of `allowed`; returns its index.
  template <typename Names>
  std::size_t choice(const char* field, const Names& allowed) {
    return choose(field, {allowed.begin(), allowed.end()});
  }
  /// Call after the last read: a field that nobody asked for is a mistyped one.
  void done() const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  const nlohmann::json& value(const char* field);
  int64_t checked(int64_t least, const std::string& place, const nlohmann::json& found) const;
  std::vector<int64_t> checked_sizes(const std::string& place, const nlohmann::json& found) const;
  std::size_t choose(const char* field, const std::vector<std::string_view>& allowed);

  const nlohmann::json& row_;
  std::string place_;
  std::set<std::string> known_;
};

}  // namespace fathom::ops
