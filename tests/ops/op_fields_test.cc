#include <gtest/gtest.h>

#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

TEST(OpFields, ThatDoNotFitAreRefused) {
  const std::vector<Case> refused{
      {"add", kForward, R"({"sizes": [5, 7], "other": [6]})"},
      {"add", kForward, R"({"sizes": [7], "other": [5, 7], "in_place": true})"},
      {"add", kForward, R"({"sizes": [7], "number": true, "in_place": true})"},
      {"relu", kForward, R"({"sizes": [7], "other": [7]})"},
      {"sum", kForward, R"({"sizes": [7], "dims": [1]})"},
      {"sum", kForward, R"({"sizes": [7, 7], "dims": [1, 1]})"},
      {"sum", kForward, R"({"sizes": [7, 7], "dims": [-1]})"},
      {"arg_max", kForward, R"({"sizes": [7], "dim": 1})"},
      {"dropout", kForward, R"({"sizes": [7], "p": 1})"},
      {"dropout", kForward, R"({"sizes": [7], "p": "0.5"})"},
      {"log_uniform", kForward, R"({"positions": 2, "candidates": 9, "classes": 8})"},
      {"multinomial", kForward, R"({"rows": 3, "classes": 0})"},
      {"multinomial", kForward, R"({"classes": 5})"},
      {"concat", kForward, R"({"tensors": [[2, 3], [2, 4]], "dim": 0})"},
      {"concat", kForward, R"({"tensors": [[2, 3], [2]], "dim": 1})"},
      {"concat", kForward, R"({"tensors": [[2, 3]], "dim": 2})"},
      {"concat", kForward, R"({"tensors": [], "dim": 0})"},
      {"sgd", kUpdate, R"({"tensors": [3]})"},
      {"copy", kForward, R"({"sizes": [3], "transposed": true})"},
      {"transpose", kForward, R"({"sizes": [3]})"},
      {"pad", kForward, R"({"sizes": [3], "padding": [1]})"},
      {"pad", kForward, R"({"sizes": [3], "padding": [1, 1, 1, 1]})"},
      {"conv2d", kForward,
       R"({"n": 1, "c": 3, "k": 4, "image": [5, 5], "kernel": [3, 3], "groups": 2})"},
      {"conv2d", kForward, R"({"n": 1, "c": 3, "k": 4, "image": [5, 5], "kernel": [7, 3]})"},
      {"conv2d", kForward, R"({"n": 1, "c": 3, "k": 4, "image": [5], "kernel": [3, 3]})"},
      {"conv2d", kForward,
       R"({"n": 1, "c": 3, "k": 4, "image": [5, 5], "kernel": [3, 3], "padding": [-1, 0]})"},
      {"max_pool", kForward, R"({"sizes": [1, 3, 4, 4], "kernel": [2, 2], "padding": [2, 0]})"},
      {"max_pool", kForward, R"({"sizes": [3, 4, 4], "kernel": [2, 2]})"},
      {"avg_pool", kForward, R"({"sizes": [1, 3, 4, 4]})"},
      {"avg_pool", kForward, R"({"sizes": [1, 3, 4, 4], "output": [1, 1], "kernel": [2, 2]})"},
      {"avg_pool", kForward, R"({"sizes": [1, 3, 4, 4], "kernel": [5, 2]})"},
      {"local_response_norm", kForward,
       R"({"sizes": [1, 2, 3, 4], "size": 4, "alpha": 1, "beta": 1, "bias": 1})"},
      {"local_response_norm", kForward,
       R"({"sizes": [1, 2, 3, 4], "size": 1, "alpha": 1, "beta": 1, "bias": 1})"},
      {"sampled_softmax", kForward,
       R"({"positions": 1, "n": 1, "width": 1, "classes": 3, "candidates": 4})"},
      {"ctc_loss", kForward, R"({"frames": 3, "n": 1, "classes": 5, "labels": 4})"},
      {"softmax", kForward, R"({"sizes": [4]})"},
      {"log_softmax", kForward, R"({"sizes": [4]})"},
      {"softmax_cross_entropy", kForward, R"({"n": 3, "classes": 5, "smoothing": 1.5})"},
      {"softmax_cross_entropy", kForward, R"({"n": 3, "classes": 5, "smoothing": -0.1})"},
      {"softmax_cross_entropy", kForward, R"({"n": 3, "classes": 5, "smoothing": true})"},
      {"softmax_cross_entropy", kForward, R"({"n": 3, "classes": 1, "padding": true})"},
      {"embedding", kForward, R"({"rows": 0, "width": 1, "ids": 1})"},
      {"roi_align", kForward,
       R"({"sizes": [1, 2, 5, 5], "regions": 3, "output": [2, 2], "scale": 0, "samples": 2})"},
      {"nms", kForward, R"({"boxes": 3, "max_overlap": 1})"},
      {"group_norm", kForward, R"({"sizes": [2, 6, 5], "groups": 4})"},
      {"group_norm", kForward, R"({"sizes": [6], "groups": 1})"},
      {"layer_norm", kForward, R"({"sizes": [6, 5], "normalized": 3})"},
      {"scaled_dot_product_attention", kForward,
       R"({"batch": 2, "heads": 3, "queries": 5, "keys": 7, "width": 4, "mask": [5, 1, 1]})"},
      {"scaled_dot_product_attention", kForward,
       R"({"batch": 2, "heads": 3, "queries": 5, "keys": 7, "width": 4, "mask": [7]})"},
      {"scaled_dot_product_attention", kForward,
       R"({"batch": 2, "heads": 3, "queries": 5, "keys": 7, "width": 4, "mask": [4, 1, 5, 7]})"},
      {"scaled_dot_product_attention", kForward,
       R"({"batch": 2, "heads": 3, "queries": 5, "keys": 7, "width": 4, "mask": [5, 7],
           "causal": true})"},
      {"upsample_nearest", kForward, R"({"sizes": [6, 4], "output": [12, 8]})"},
      {"index", kForward, R"({"sizes": [4], "picks": 1})"},
      {"index_put", kForward, R"({"sizes": [3, 4], "picks": 5})"},
      {"where", kForward, R"({"sizes": [3, 4], "mask": [3]})"},
      {"where", kForward, R"({"sizes": [1, 4], "mask": [3, 4]})"},
      {"sort", kForward, R"({"sizes": [3], "dim": 1})"},
      {"top_k", kForward, R"({"sizes": [3, 4], "dim": 1, "k": 5})"},
      {"top_k", kForward, R"({"sizes": [3], "dim": 1, "k": 1})"},
      {"gather", kForward, R"({"sizes": [4], "picks": 1})"}};
  for (const Case& one : refused) EXPECT_THROW(make_op(one), ShapeError) << case_name(one);
}

TEST(OpFields, LabelsOfOneClassNeedABlankBetweenThem) {
  for (const int labels : {1, 3}) {
    const auto of_frames = [&](int frames) {
      return R"({"n": 1, "classes": 2, "labels": )" + std::to_string(labels) + R"(, "frames": )" +
             std::to_string(frames) + '}';
    };
    EXPECT_NO_THROW(make_op("ctc_loss", kForward, of_frames(2 * labels - 1))) << labels;
  }
  EXPECT_THROW(make_op("ctc_loss", kForward, R"({"n": 1, "classes": 2, "labels": 3, "frames": 4})"),
               ShapeError);
}

}  // namespace
}  // namespace fathom::ops
