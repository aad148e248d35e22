#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fathom::ops {

using Pair = std::array<int64_t, 2>;  ///< {height, width}
using Sizes = std::vector<int64_t>;   ///< extents of a tensor

using FieldValue =
    std::variant<int64_t, double, bool, Pair, Sizes, std::vector<Sizes>, std::string>;

/// The fields of a shape as a shapes file lists them, without those that equal their default.
using FieldRow = std::vector<std::pair<std::string, FieldValue>>;

/// The type of a field's value.
enum class FieldKind {
  kExtent,   ///< an integer, 1 .. 2^31
  kCount,    ///< an integer, 0 .. 2^31, such as the index of a dimension
  kNumber,   ///< a number
  kShare,    ///< a number above 0 and below 1
  kFlag,     ///< true or false
  kPair,     ///< [height, width]
  kSizes,    ///< the extents of a tensor, at least one
  kCounts,   ///< a list of integers, 0 .. 2^31
  kTensors,  ///< the extents of several tensors, at least one tensor
  kChoice,   ///< one of some texts
};

struct FieldSpec {
  const char* name;
  FieldKind kind;
  int64_t min = 1;           ///< minimum of each element of a pair
  const char* same_as = "";  ///< the field that gives the default
  std::span<const std::string_view> choices = {};
};

/// Visits the fields of a shape. A shape names each field once, in `visit(Fields&)`. This one
/// function serves to read a row of a shapes file (FieldReader), to write one (written()) and to
/// list the fields (described()).
class Fields {
 public:
  virtual ~Fields() = default;

  void extent(const char* name, int64_t& value, std::optional<int64_t> fallback = {},
              const char* same_as = "") {
    field({.name = name, .kind = FieldKind::kExtent, .same_as = same_as}, value, fallback);
  }
  void count(const char* name, int64_t& value) { field({name, FieldKind::kCount}, value, {}); }
  void number(const char* name, double& value, std::optional<double> fallback = {}) {
    field({name, FieldKind::kNumber}, value, fallback);
  }
  void share(const char* name, double& value) { field({name, FieldKind::kShare}, value, {}); }
  void flag(const char* name, bool& value) {
    field({name, FieldKind::kFlag}, value, std::optional(false));
  }
  void pair(const char* name, Pair& value, int64_t min) {
    field({name, FieldKind::kPair, min}, value, {});
  }
  void pair(const char* name, Pair& value, int64_t min, const Pair& fallback,
            const char* same_as = "") {
    field({name, FieldKind::kPair, min, same_as}, value, std::optional(fallback));
  }
  void sizes(const char* name, Sizes& value) { field({name, FieldKind::kSizes}, value, {}); }
  void sizes(const char* name, Sizes& value, const Sizes& fallback, const char* same_as) {
    field({name, FieldKind::kSizes, 1, same_as}, value, std::optional(fallback));
  }
  void counts(const char* name, Sizes& value) { field({name, FieldKind::kCounts}, value, {}); }
  void counts(const char* name, Sizes& value, const Sizes& fallback) {
    field({name, FieldKind::kCounts}, value, std::optional(fallback));
  }
  void tensors(const char* name, std::vector<Sizes>& value) {
    field({name, FieldKind::kTensors}, value, {});
  }
  void choice(const char* name, std::string& value, std::span<const std::string_view> choices) {
    field({.name = name, .kind = FieldKind::kChoice, .choices = choices}, value, {});
  }

  /// Checks a condition between fields. FieldReader throws a ShapeError with `problem` where it
  /// does not hold.
  virtual void require(bool /*holds*/, const std::string& /*problem*/) {}

 protected:
  /// Reads or writes `value`. A field without a `fallback` is required.
  virtual void visit(const FieldSpec& spec, FieldValue& value, const FieldValue* fallback) = 0;

 private:
  template <typename T>
  void field(const FieldSpec& spec, T& value, const std::optional<T>& fallback) {
    FieldValue any = std::move(value);
    if (fallback) {
      const FieldValue default_value = *fallback;
      visit(spec, any, &default_value);
    } else {
      visit(spec, any, nullptr);
    }
    value = std::get<T>(std::move(any));
  }
};

/// The fields that `visit` names, as a row.
FieldRow written(void (*visit)(void* shape, Fields& fields), void* shape);

template <typename Shape>
FieldRow written(Shape shape) {
  return written([](void* any, Fields& fields) { static_cast<Shape*>(any)->visit(fields); },
                 &shape);
}

/// Reads fields from a row that written() returned.
class FieldLoader final : public Fields {
 public:
  explicit FieldLoader(const FieldRow& row) : row_(row) {}

 protected:
  void visit(const FieldSpec& spec, FieldValue& value, const FieldValue* fallback) override;

 private:
  const FieldRow& row_;
};

/// A field's name, the values that it takes and its default (empty for a required field), as text.
struct FieldDescription {
  std::string name;
  std::string takes;
  std::string fallback;
};

/// The fields that `visit` names.
std::vector<FieldDescription> described(const std::function<void(Fields& fields)>& visit);

/// The JSON text of a value or a row.
std::string json_text(const FieldValue& value);
std::string json_text(const FieldRow& row);

}  // namespace fathom::ops
