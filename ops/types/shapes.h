#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/op.h"
#include "ops/core/pass.h"

namespace fathom::ops {

/// An op as a workload's training step runs it.
struct ShapeRow {
  const OpType* type;
  std::string workload;
  std::string layer;  ///< the first layer of this shape
  Pass pass;
  int64_t count;        ///< calls a training step
  int64_t infer_count;  ///< calls an inference
  std::shared_ptr<const Op> op;
  FieldRow fields;

  /// op/<type>/<workload>/<layer>/<pass>
  std::string name() const;
  /// The same for two rows that run the same.
  std::string key() const;
};

/// ShapeRow::key() of an op that was matched.
std::string shape_key(const OpType& type, const MatchedOp& op);

/// The op of a row's `fields`, a JSON object. Throws ShapeError.
std::unique_ptr<Op> parse_op(const OpType& type, Pass pass, std::string_view fields);

/// Rows of one shapes file; `path` is for messages. Throws ShapeError.
std::vector<ShapeRow> parse_shapes(std::string_view text, const std::string& path);

/// A user's shapes file. Throws ShapeError, also where it cannot be read.
std::vector<ShapeRow> read_shapes(const std::string& path);

/// The text of ops/shapes/<workload>.json, compiled into the program; empty where there is none.
std::string_view embedded_text(std::string_view workload);

/// Its rows.
std::vector<ShapeRow> embedded_shapes(std::string_view workload);

}  // namespace fathom::ops
