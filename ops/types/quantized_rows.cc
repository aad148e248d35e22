#include "ops/types/quantized_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/kernels/quantized/weight_codes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// The value of a field, or of its default.
template <typename T>
T field(const FieldRow& fields, std::string_view name, T fallback = {}) {
  const auto found = std::ranges::find(fields, name, &FieldRow::value_type::first);
  return found == fields.end() ? fallback : std::get<T>(found->second);
}

bool is_convolution(const ShapeRow& row) { return row.type->name == "conv2d"; }

/// Whether it is the forward pass of a layer x · Wᵀ (+ bias).
bool is_linear(const ShapeRow& row) {
  return row.type->name == "matmul" && field<bool>(row.fields, "transpose_b") &&
         !field<bool>(row.fields, "transpose_a") && !field<bool>(row.fields, "addend");
}

/// The rows of one network, each shape once.
class Rows {
 public:
  /// Adds an op of the layer of `from`.
  void add(const ShapeRow& from, std::string_view type, FieldRow fields) {
    ShapeRow row = from;
    row.type = op_type(type);
    row.count = 0;
    row.fields = std::move(fields);
    const auto same = std::ranges::find(rows_, row.key(), &ShapeRow::key);
    if (same != rows_.end()) {
      same->infer_count += row.infer_count;
      return;
    }
    FieldLoader loader(row.fields);
    row.op = row.type->make(loader, row.pass);
    rows_.push_back(std::move(row));
  }

  std::vector<ShapeRow> all() && { return std::move(rows_); }

 private:
  std::vector<ShapeRow> rows_;
};

}  // namespace

std::vector<ShapeRow> quantized_rows(const std::vector<ShapeRow>& rows, fixtures::Device device,
                                     fixtures::Precision precision) {
  const std::pair format{std::string("format"), FieldValue(std::string(name(precision)))};
  const std::pair per_token{std::string("per_token"), FieldValue(true)};
  const bool tokens = std::ranges::none_of(rows, is_convolution);
  const bool has_codes = !fixtures::is_weight_only(precision);
  const bool convolutions =
      precision == fixtures::Precision::kInt8 && device == fixtures::Device::kCpu;
  const bool per_token_codes = tokens && precision == fixtures::Precision::kInt8;
  Rows made;
  if (!convolutions && !tokens) return {};
  for (const auto& row : rows) {
    if (row.pass != Pass::kForward || row.infer_count == 0) continue;
    if (is_convolution(row)) {
      const auto image = field<Pair>(row.fields, "image");
      made.add(row, "quantize",
               {{"sizes", Sizes{field<int64_t>(row.fields, "n"), field<int64_t>(row.fields, "c"),
                                image[0], image[1]}},
                format});
      FieldRow fields = row.fields;
      fields.push_back(format);
      made.add(row, "quantized_conv2d", std::move(fields));
    }
    if (!is_linear(row)) continue;
    const auto m = field<int64_t>(row.fields, "m");
    const auto n = field<int64_t>(row.fields, "n");
    const auto k = field<int64_t>(row.fields, "k");
    if (!has_format(precision, k)) continue;
    const bool bias = field<bool>(row.fields, "bias");
    const auto with_bias = [&](FieldRow fields) {
      if (bias) fields.emplace_back("bias", true);
      fields.push_back(format);
      return fields;
    };
    const FieldRow product{{"m", m}, {"n", n}, {"k", k}};
    if (!has_codes) {
      made.add(row, "quantized_matmul", with_bias(product));
    } else if (per_token_codes) {
      made.add(row, "quantize", {{"sizes", Sizes{m, k}}, format, per_token});
      FieldRow sums = product;
      sums.insert(sums.end(), {format, per_token});
      made.add(row, "quantized_matmul", std::move(sums));
      made.add(row, "dequantize", with_bias({{"m", m}, {"n", n}}));
    } else {
      made.add(row, "quantize", {{"sizes", Sizes{m, k}}, format});
      made.add(row, "quantized_matmul", with_bias(product));
    }
  }
  return std::move(made).all();
}

}  // namespace fathom::ops
