#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/fields.h"

namespace fathom::ops {

/// A shapes file, or a file of choices of kernels, is invalid. The message names the file, the
/// place, what was found and what was expected.
class ShapeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads fields from a row of such a file. Throws ShapeErrors that name `place` and the field.
class FieldReader final : public Fields {
 public:
  FieldReader(const nlohmann::json& row, std::string place);

  /// Whether an optional field is present.
  bool has(const char* field);
  std::string text(const char* field);
  /// A text that can be a part of a benchmark's name.
  std::string name_part(const char* field);
  const nlohmann::json& list(const char* field);
  std::map<std::string, double> numbers(const char* field);
  /// The index in `allowed` of the field's text.
  template <typename Names>
  std::size_t choice(const char* field, const Names& allowed) {
    return choose(field, {allowed.begin(), allowed.end()});
  }
  /// Call after the last read. Throws ShapeError for a field that was never read: it is mistyped.
  void done() const;

  /// The fields that visit() has read, in the form that written() returns.
  const FieldRow& row() const { return read_; }

  void require(bool holds, const std::string& problem) override;
  [[noreturn]] void fail(const std::string& what) const;

 protected:
  void visit(const FieldSpec& spec, FieldValue& value, const FieldValue* fallback) override;

 private:
  const nlohmann::json& value(const char* field);
  FieldValue parsed(const FieldSpec& spec);
  int64_t integer(int64_t min, const std::string& field, const nlohmann::json& found) const;
  Sizes integers(int64_t min, const std::string& field, const nlohmann::json& found) const;
  Sizes extents(const std::string& field, const nlohmann::json& found) const;
  std::size_t choose(const char* field, const std::vector<std::string_view>& allowed);
  [[noreturn]] void refuse(const std::string& field, const nlohmann::json& found,
                           const std::string& expected) const;

  const nlohmann::json& json_;
  std::string place_;
  std::set<std::string> known_;
  FieldRow read_;
};

}  // namespace fathom::ops
