#include <ATen/ExpandUtils.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/core/autograd/gradient_call.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/decode_attention.h"

namespace fathom::ops {
namespace {

struct AttentionShape {
  int64_t batch;
  int64_t heads;
  int64_t kv_heads;  ///< of keys and values; each serves heads / kv_heads heads of queries
  int64_t queries;
  int64_t keys;
  int64_t width;  ///< of a head
  bool causal;    ///< query i sees keys 0 .. i
  Sizes mask;     ///< extents of a mask, which broadcasts to the scores; empty for none
  double scale;   ///< of the scores; 0: that of the paper

  void visit(Fields& fields) {
    fields.extent("batch", batch);
    fields.extent("heads", heads);
    fields.extent("kv_heads", kv_heads, heads, "heads");
    fields.require(kv_heads < 1 || heads % kv_heads == 0,
                   "\"heads\" is no multiple of \"kv_heads\"");
    fields.extent("queries", queries);
    fields.extent("keys", keys);
    fields.extent("width", width);
    fields.flag("causal", causal);
    fields.counts("mask", mask, {});
    fields.number("scale", scale, 0);
    fields.require(!causal || mask.empty(), "\"causal\" is true, expected no \"mask\"");
    const bool fits =
        at::are_expandable(mask, scores()) && at::infer_size(mask, scores()) == scores();
    fields.require(fits, "\"mask\" does not broadcast to [batch, heads, queries, keys]");
    fields.require(mask.size() != 1, "\"mask\" has one extent, expected two or more");
  }

  double usual_scale() const { return 1 / std::sqrt(static_cast<double>(width)); }
  double scale_or_usual() const { return scale == 0 ? usual_scale() : scale; }
  Sizes scores() const { return {batch, heads, queries, keys}; }
};

/// softmax(q · kᵀ · scale + mask) · v of each head (Vaswani et al. 2017, section 3.2.1, with a
/// scale of 1 / sqrt(width)), which LibTorch runs as one kernel. q is [batch, queries, heads,
/// width], k and v are [batch, keys, kv_heads, width], as a layer projects them. Heads may share
/// keys (Ainslie et al. 2023, "GQA"). The mask is 0 where a query sees a key, else -infinity.
/// Forward: {q, k, v} or {q, k, v, mask} gives {y}, of the shape of q. Backward: these and g, of
/// the shape of y, give {dq, dk, dv}. No vendor's rows: their libraries have it in graphs only. One
/// query, as in decoding, has a native kernel.
class ScaledDotProductAttention final : public Op {
 public:
  ScaledDotProductAttention(AttentionShape shape, Pass pass)
      : shape_(std::move(shape)), pass_(pass) {}

  /// All pairs of a query and a key count, also where `causal` or a mask hides one: a kernel may
  /// compute them, as LibTorch's composition does. The gradient has two products for each one of
  /// forward; computing the scores again does not count.
  Cost cost(fixtures::Precision precision) const override {
    const bool backward = pass_ == Pass::kBackward;
    const auto& [batch, heads, kv_heads, queries, keys, width, causal, mask, scale] = shape_;
    const double of_queries = elements({batch, queries, heads, width});
    const double of_keys = elements({batch, keys, kv_heads, width});
    const double more = elements({batch, heads, queries}) + (mask.empty() ? 0 : elements(mask));
    // q, k, v, mask -> y, sums of exponentials; these and g -> dq, dk, dv.
    const double touched = (backward ? 4 : 2) * (of_queries + of_keys) + more;
    const double macs = 2 * elements({batch, heads, queries, keys, width});
    return {.flops = (backward ? 4 : 2) * macs,
            .bytes = element_bytes(precision) * touched,
            .macs = macs};
  }

  /// A mask hides a fifth of the keys.
  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const auto& [batch, heads, kv_heads, queries, keys, width, causal, mask, scale] = shape_;
    const Sizes of_keys{batch, keys, kv_heads, width};
    Tensors made{draws.normal({batch, queries, heads, width}), draws.normal(of_keys),
                 draws.normal(of_keys)};
    if (!mask.empty()) {
      constexpr double kHidden = -std::numeric_limits<double>::infinity();
      made.push_back(at::zeros(mask).masked_fill_(draws.uniform(mask, 0, 1).lt(0.2), kHidden));
    }
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(made[0].sizes()));
    return made;
  }

  Call call(const Tensors& in) const override {
    std::optional<at::Tensor> mask;
    if (!shape_.mask.empty()) mask = in[3];
    const auto forward = [mask, shape = shape_](const Tensors& all) -> Tensors {
      return {at::scaled_dot_product_attention(all[0].transpose(1, 2), all[1].transpose(1, 2),
                                               all[2].transpose(1, 2), mask, /*dropout_p=*/0,
                                               shape.causal, shape.scale_or_usual(),
                                               /*enable_gqa=*/shape.heads != shape.kv_heads)
                  .transpose(1, 2)};
    };
    const Tensors leaves(in.begin(), in.begin() + 3);
    if (pass_ == Pass::kForward) return [=] { return forward(leaves); };
    return gradient_call(forward, leaves, {in.back()});
  }

  Call native(const Tensors& in) const override {
    if (!is_decoding()) return nullptr;
    return [q = in[0].transpose(1, 2), k = in[1].transpose(1, 2), v = in[2].transpose(1, 2),
            scale = shape_.scale_or_usual()]() -> Tensors {
      return {decode_attention(q, k, v, scale).transpose(1, 2)};
    };
  }

  bool native_on(fixtures::Device device) const override {
    return device == fixtures::Device::kCpu;
  }

  std::vector<Backend> backends() const override {
    if (is_decoding()) return {Backend::kTorch, Backend::kNative};
    return {Backend::kTorch};
  }

  /// The gradients pass through a chain of rounded results.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return pass_ == Pass::kBackward ? 4 : 1;
  }

 private:
  bool is_decoding() const {
    return pass_ == Pass::kForward && shape_.queries == 1 && shape_.mask.empty() && !shape_.causal;
  }

  AttentionShape shape_;
  Pass pass_;
};

/// On the CPU, LibTorch composes attention with dropout, or over tensors that its kernel does not
/// take, of ops that have rows of their own.
bool is_composed(const ObservedCall& call) {
  if (call.name != "aten::scaled_dot_product_attention") return false;
  return call.arguments[0].toTensor().is_cpu() && call.arguments[4].toDouble() > 0;
}

std::vector<MatchedOp> match_attention(const ObservedCall& call) {
  struct Signature {
    std::string_view name;
    std::size_t q, mask, causal, scale;  ///< argument numbers, k and v after q; mask 0: none
  };
  static constexpr std::array<Signature, 9> signatures{
      {{"aten::scaled_dot_product_attention", 0, 3, 5, 6},
       {"aten::_scaled_dot_product_flash_attention_for_cpu", 0, 5, 4, 6},
       {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", 1, 8, 7, 9},
       {"aten::_scaled_dot_product_flash_attention", 0, 0, 4, 6},
       {"aten::_scaled_dot_product_flash_attention_backward", 1, 0, 11, 14},
       {"aten::_scaled_dot_product_efficient_attention", 0, 3, 6, 7},
       {"aten::_scaled_dot_product_efficient_attention_backward", 1, 4, 11, 12},
       {"aten::_scaled_dot_product_cudnn_attention", 0, 3, 6, 8},
       {"aten::_scaled_dot_product_cudnn_attention_backward", 1, 8, 14, 15}}};
  const auto found = std::ranges::find(signatures, call.name, &Signature::name);
  if (found == signatures.end() || is_composed(call)) return {};
  const at::Tensor& q = call.arguments[found->q].toTensor();
  const at::Tensor& k = call.arguments[found->q + 1].toTensor();
  const at::Tensor& v = call.arguments[found->q + 2].toTensor();
  const bool fits = q.dim() == 4 && k.sizes() == v.sizes() && k.dim() == 4 &&
                    q.size(1) % k.size(1) == 0 && k.size(3) == q.size(3);
  if (!fits) return {};
  AttentionShape shape{.batch = q.size(0),
                       .heads = q.size(1),
                       .kv_heads = k.size(1),
                       .queries = q.size(2),
                       .keys = k.size(2),
                       .width = q.size(3),
                       .causal = call.arguments[found->causal].toBool(),
                       .mask = {},
                       .scale = 0};
  const auto& scale = call.arguments[found->scale];
  if (!scale.isNone() && scale.toDouble() != shape.usual_scale()) shape.scale = scale.toDouble();
  if (found->mask > 0 && given(call.arguments[found->mask]))
    shape.mask = spanned_sizes(call.arguments[found->mask].toTensor());
  return {matched(call, std::move(shape))};
}

}  // namespace

OpType scaled_dot_product_attention_type() {
  return {
      .name = "scaled_dot_product_attention",
      .op_class = OpClass::kMatrix,
      .aten = {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu",
               "_scaled_dot_product_flash_attention_for_cpu_backward",
               "_scaled_dot_product_flash_attention",
               "_scaled_dot_product_flash_attention_backward",
               "_scaled_dot_product_efficient_attention",
               "_scaled_dot_product_efficient_attention_backward",
               "_scaled_dot_product_cudnn_attention",
               "_scaled_dot_product_cudnn_attention_backward"},
      .passes = {Pass::kForward, Pass::kBackward},
      .examples =
          {R"({"batch": 2, "heads": 6, "kv_heads": 2, "queries": 5, "keys": 5, "width": 4, "causal": true})",
           R"({"batch": 1, "heads": 2, "queries": 1, "keys": 9, "width": 8})",
           R"({"batch": 2, "heads": 6, "kv_heads": 3, "queries": 1, "keys": 37, "width": 10, "scale": 0.25})",
           R"({"batch": 2, "heads": 1, "queries": 3, "keys": 7, "width": 5, "mask": [2, 1, 1, 7]})"},
      .fields = fields_of<AttentionShape>,
      .make = make_op<ScaledDotProductAttention, AttentionShape>,
      .match = match_attention};
}

}  // namespace fathom::ops
