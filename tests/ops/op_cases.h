#pragma once

#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/backends/vendor.h"
#include "ops/types/table.h"

namespace fathom::ops {

inline constexpr Pass kForward = Pass::kForward;
inline constexpr Pass kBackward = Pass::kBackward;
inline constexpr Pass kUpdate = Pass::kUpdate;

/// A row; its fields as JSON.
struct Case {
  const char* type;
  Pass pass;
  const char* fields;

  nlohmann::json json() const { return nlohmann::json::parse(fields); }
};

/// The op of a row. Throws ShapeError where the type does not take these fields.
inline std::unique_ptr<Op> make_op(std::string_view type, Pass pass, const nlohmann::json& row) {
  Fields fields(row, "test");
  auto op = op_type(type)->make(fields, pass);
  fields.done();
  return op;
}

inline std::unique_ptr<Op> make_op(const Case& one) {
  return make_op(one.type, one.pass, one.json());
}

/// Outputs of a vendor's kernel over `inputs`, after a few runs over the same buffers; `words` gets
/// what the library calls it.
inline Tensors vendor_results(const Op& op, Backend backend, fixtures::Precision precision,
                              const Tensors& inputs, std::string* words) {
  Tensors outputs = op.call(inputs)();
  for (auto& output : outputs) output = output.contiguous().fill_(-1);
  const auto kernel = vendor_kernel(backend, op.problem(inputs, outputs), precision);
  for (int i = 0; i < 3; ++i) kernel->run();
  kernel->write_outputs();
  *words = kernel->implementation();
  return outputs;
}

/// Of letters, digits and underscores.
inline std::string case_name(const Case& one) {
  std::string label = std::string(one.type) + "_" + std::string(name(one.pass)) + "_" + one.fields;
  std::string clean;
  for (const char c : label) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      clean += c;
    } else if (!clean.empty() && clean.back() != '_') {
      clean += '_';
    }
  }
  return clean;
}

/// Every op type in every pass, small and awkward: extents of 1, primes, strides, padding, groups.
inline std::vector<Case> op_cases() {
  std::vector<std::pair<const char*, const char*>> rows{
      {"matmul", R"({"m": 5, "n": 7, "k": 3})"},
      {"matmul", R"({"m": 13, "n": 1, "k": 11, "transpose_b": true})"},
      {"add", R"({"sizes": [5, 7], "other": [7]})"},
      {"add", R"({"sizes": [5, 1], "other": [3, 1, 7]})"},
      {"add", R"({"sizes": [5, 7], "number": true})"},
      {"add", R"({"sizes": [5, 7], "in_place": true})"},
      {"add", R"({"sizes": [5, 7], "other": [5, 1], "in_place": true})"},
      {"sub", R"({"sizes": [5, 7], "other": [1]})"},
      {"mul", R"({"sizes": [2, 3, 5], "other": [3, 1]})"},
      {"mul", R"({"sizes": [64, 257], "number": true})"},
      {"div", R"({"sizes": [1], "other": [17]})"},
      {"div", R"({"sizes": [5, 7], "number": true})"},
      {"bias_add", R"({"sizes": [13, 7]})"},
      {"bias_add", R"({"sizes": [1, 1]})"},
      {"batched_matmul", R"({"batch": 3, "m": 5, "n": 7, "k": 11})"},
      {"batched_matmul", R"({"batch": 2, "m": 5, "n": 1, "k": 3, "transpose_a": true})"},
      {"batched_matmul",
       R"({"batch": 1, "m": 13, "n": 4, "k": 1, "transpose_b": true, "addend": true})"},
      {"sum", R"({"sizes": [5, 7, 3]})"},
      {"sum", R"({"sizes": [5, 7, 3], "dims": [2, 0]})"},
      {"sum", R"({"sizes": [5, 7, 1], "dims": [1], "keepdim": true, "mean": true})"},
      {"sum", R"({"sizes": [1], "mean": true})"},
      {"arg_max", R"({"sizes": [5, 7], "dim": 1})"},
      {"arg_max", R"({"sizes": [5, 1, 3], "dim": 0, "keepdim": true})"},
      {"normal", R"({"sizes": [101, 97]})"},
      {"normal", R"({"sizes": [3]})"},
      {"uniform", R"({"sizes": [101, 97]})"},
      {"uniform", R"({"sizes": [1]})"},
      {"dropout", R"({"sizes": [101, 97], "p": 0.5})"},
      {"dropout", R"({"sizes": [3], "p": 0.1})"},
      {"log_uniform", R"({"positions": 7, "candidates": 13, "classes": 100})"},
      {"log_uniform", R"({"positions": 1, "candidates": 1, "classes": 1})"},
      {"concat", R"({"tensors": [[5, 3], [5, 1], [5, 7]], "dim": 1})"},
      {"concat", R"({"tensors": [[3], [1]], "dim": 0})"},
      {"concat", R"({"tensors": [[5, 3], [5, 3]], "dim": 2, "stack": true})"},
      {"copy", R"({"sizes": [5, 3]})"},
      {"copy", R"({"sizes": [2, 5, 3], "transposed": true})"},
      {"transpose", R"({"sizes": [5, 3]})"},
      {"fill", R"({"sizes": [5, 3]})"},
      {"pad", R"({"sizes": [2, 3, 5], "padding": [1, 2, 0, 3]})"},
      {"conv2d",
       R"({"n": 2, "c": 3, "k": 5, "image": [7, 6], "kernel": [3, 3], "padding": [1, 1], "bias": true})"},
      {"conv2d",
       R"({"n": 1, "c": 4, "k": 6, "image": [11, 13], "kernel": [5, 3], "groups": 2, "stride": [2, 1], "padding": [2, 0]})"},
      {"conv2d",
       R"({"n": 3, "c": 2, "k": 2, "image": [9, 8], "kernel": [3, 2], "stride": [2, 3], "padding": [2, 2], "dilation": [2, 3], "bias": true})"},
      {"conv2d", R"({"n": 1, "c": 1, "k": 1, "image": [1, 1], "kernel": [1, 1]})"},
      {"max_pool", R"({"sizes": [2, 3, 7, 9], "kernel": [3, 3], "stride": [2, 2]})"},
      {"max_pool",
       R"({"sizes": [1, 5, 8, 5], "kernel": [3, 2], "stride": [2, 2], "padding": [1, 1], "ceil": true})"},
      {"max_pool", R"({"sizes": [1, 1, 6, 6], "kernel": [2, 2]})"},
      {"avg_pool", R"({"sizes": [2, 3, 7, 5], "output": [1, 1]})"},
      {"avg_pool", R"({"sizes": [1, 3, 7, 5], "output": [3, 2]})"},
      {"batch_norm", R"({"sizes": [2, 3, 5, 7]})"},
      {"batch_norm", R"({"sizes": [11, 4]})"},
      {"local_response_norm",
       R"({"sizes": [2, 7, 3, 5], "size": 5, "alpha": 0.5, "beta": 0.75, "bias": 2})"},
      {"lstm", R"({"steps": 5, "n": 3, "inputs": 4, "width": 6, "bias": true})"},
      {"lstm", R"({"steps": 1, "n": 1, "inputs": 7, "width": 2})"},
      {"lstm_cell", R"({"n": 3, "inputs": 5, "width": 4})"},
      {"lstm_cell", R"({"n": 1, "inputs": 1, "width": 1})"},
      {"rnn", R"({"frames": 7, "n": 3, "width": 5})"},
      {"rnn", R"({"frames": 5, "n": 2, "width": 4, "reverse": true})"},
      {"rnn", R"({"frames": 1, "n": 2, "width": 3})"},
      {"attention", R"({"n": 3, "places": 5, "width": 4, "query": 2})"},
      {"attention", R"({"n": 1, "places": 1, "width": 3, "query": 1})"},
      {"sampled_softmax",
       R"({"positions": 2, "n": 3, "width": 4, "classes": 23, "candidates": 5})"},
      {"ctc_loss", R"({"frames": 13, "n": 3, "classes": 5, "labels": 4})"},
      {"ctc_loss", R"({"frames": 2, "n": 1, "classes": 2, "labels": 1})"},
      {"softmax", R"({"sizes": [3, 7]})"},
      {"softmax", R"({"sizes": [2, 5, 3]})"},
      {"softmax_cross_entropy", R"({"n": 5, "classes": 7})"},
      {"softmax_cross_entropy", R"({"n": 1, "classes": 2})"},
      {"embedding", R"({"rows": 11, "width": 3, "ids": 7})"},
      {"embedding", R"({"rows": 11, "width": 3, "ids": 7, "sparse": true})"},
      {"gather", R"({"sizes": [5, 4], "picks": 1})"},
      {"gather", R"({"sizes": [2, 5, 3], "picks": 7})"}};
  for (const char* type : {"relu", "clipped_relu", "sigmoid", "tanh", "exp", "sqrt", "square",
                           "neg", "huber_loss", "add", "sub", "mul", "div"}) {
    for (const char* fields : {R"({"sizes": [1]})", R"({"sizes": [3, 1, 67]})"}) {
      rows.emplace_back(type, fields);
    }
  }
  for (const char* type : {"sgd", "momentum", "adam", "adagrad", "rmsprop", "clip_norm"}) {
    for (const char* fields :
         {R"({"tensors": [[1]]})", R"({"tensors": [[5, 7], [3], [1, 2, 3]]})"}) {
      rows.emplace_back(type, fields);
    }
  }
  std::vector<Case> cases;
  for (const auto& [type, fields] : rows) {
    for (const Pass pass : op_type(type)->passes) cases.push_back({type, pass, fields});
  }
  return cases;
}

}  // namespace fathom::ops
