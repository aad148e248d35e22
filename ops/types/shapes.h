#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/op.h"
#include "ops/core/pass.h"

namespace fathom::ops {

/// An op of one shape that a workload's step runs.
struct ShapeRow {
  const OpType* type;
  std::string workload;
  std::string layer;  ///< the first layer of this shape
  Pass pass;
  int64_t count;        ///< calls per training step
  int64_t infer_count;  ///< calls per inference step
  std::shared_ptr<const Op> op;
  FieldRow fields;

  /// op/<type>/<workload>/<layer>/<pass>.
  std::string name() const;
  /// Equal for two rows that run the same op.
  std::string key() const;
};

/// ShapeRow::key() of an op that was matched.
std::string shape_key(const OpType& type, const MatchedOp& op);

/// The row of a product of experts that tokens choose by Zipf's law, for one whose experts they
/// choose evenly; none for other rows. No step runs it.
std::optional<ShapeRow> with_uneven_experts(const ShapeRow& row);

/// The op of a row's `fields`, a JSON object. Throws ShapeError.
std::unique_ptr<Op> parse_op(const OpType& type, Pass pass, std::string_view fields);

/// The rows of a shapes file; `path` is for messages. Throws ShapeError.
std::vector<ShapeRow> parse_shapes(std::string_view text, const std::string& path);

/// The rows of a user's shapes file. Throws ShapeError, also where it cannot be read.
std::vector<ShapeRow> read_shapes(const std::string& path);

/// The text of ops/shapes/<workload>.json, compiled into the program; empty where there is none.
std::string_view embedded_text(std::string_view workload);

/// "gradient_buckets" of a shapes file: the elements of the buckets in which ranks reduce the dense
/// gradients of a training step, in that order. Empty where it has none, and for an empty text.
std::vector<int64_t> gradient_buckets(std::string_view text);

}  // namespace fathom::ops
