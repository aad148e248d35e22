#include <ATen/ExpandUtils.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

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
  Sizes lengths;  ///< keys of each sequence, the last ones; empty: all
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
    fields.counts("lengths", lengths, {});
    fields.number("scale", scale, 0);
    fields.require(!causal || mask.empty(), "\"causal\" is true, expected no \"mask\"");
    const bool fits =
        at::are_expandable(mask, scores()) && at::infer_size(mask, scores()) == scores();
    fields.require(fits, "\"mask\" does not broadcast to [batch, heads, queries, keys]");
    fields.require(mask.size() != 1, "\"mask\" has one extent, expected two or more");
    fields.require(lengths.empty() || (!causal && mask.empty()),
                   "\"lengths\" with \"causal\" or \"mask\"");
    fields.require(lengths.empty() || std::ssize(lengths) == batch,
                   "\"lengths\" has not one length for each of \"batch\"");
    fields.require(std::ranges::all_of(lengths, [&](auto n) { return n >= 1 && n <= keys; }),
                   "\"lengths\" has one outside 1 .. \"keys\"");
  }

  double usual_scale() const { return 1 / std::sqrt(static_cast<double>(width)); }
  double scale_or_usual() const { return scale == 0 ? usual_scale() : scale; }
  Sizes scores() const { return {batch, heads, queries, keys}; }
  Sizes any_mask() const { return lengths.empty() ? mask : Sizes{batch, 1, 1, keys}; }
};

/// softmax(q · kᵀ · scale + mask) · v of each head (Vaswani et al. 2017, section 3.2.1, with a
/// scale of 1 / sqrt(width)), which LibTorch runs as one kernel. q is [batch, queries, heads,
/// width], k and v are [batch, keys, kv_heads, width], as a layer projects them. Heads may share
/// keys (Ainslie et al. 2023, "GQA"). The mask is 0 where a query sees a key, else -infinity;
/// `lengths` make one [batch, 1, 1, keys] for sequences in a padded cache, which end together.
/// Forward: {q, k, v} or {q, k, v, mask} gives {y}, of the shape of q. Backward: these and g, of
/// the shape of y, give {dq, dk, dv}. No vendor's rows: their libraries have it in graphs only. One
/// query, as in decoding, has a native kernel.
class ScaledDotProductAttention final : public Op {
 public:
  ScaledDotProductAttention(AttentionShape shape, Pass pass)
      : shape_(std::move(shape)), pass_(pass) {}

  /// The FLOPs of all pairs of a query and a key count, also where `causal` or a mask hides one: a
  /// kernel may compute them, as LibTorch's composition does. The gradient has two products for
  /// each one of forward; computing the scores again does not count. Of a padded cache, only the
  /// sequences' bytes count.
  Cost cost(fixtures::Precision precision) const override {
    const bool backward = pass_ == Pass::kBackward;
    const auto& [batch, heads, kv_heads, queries, keys, width, causal, mask, lengths, scale] =
        shape_;
    const double all_keys = lengths.empty()
                                ? elements({batch, keys})
                                : static_cast<double>(std::reduce(lengths.begin(), lengths.end()));
    const double of_queries = elements({batch, queries, heads, width});
    const double of_keys = all_keys * elements({kv_heads, width});
    const double more = elements({batch, heads, queries}) + of_mask();
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
    const Sizes of_keys{shape_.batch, shape_.keys, shape_.kv_heads, shape_.width};
    Tensors made{draws.normal({shape_.batch, shape_.queries, shape_.heads, shape_.width}),
                 draws.normal(of_keys), draws.normal(of_keys)};
    if (const Sizes mask = shape_.any_mask(); !mask.empty()) {
      constexpr double kHidden = -std::numeric_limits<double>::infinity();
      const at::Tensor hidden = shape_.lengths.empty()
                                    ? draws.uniform(mask, 0, 1).lt(0.2)
                                    : mask_of_lengths(shape_.lengths, shape_.keys).logical_not();
      made.push_back(at::zeros(mask).masked_fill_(hidden, kHidden));
    }
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(made[0].sizes()));
    return made;
  }

  Call call(const Tensors& in) const override {
    const auto forward = [mask = mask_in(in), shape = shape_](const Tensors& all) -> Tensors {
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
            scale = shape_.scale_or_usual(), mask = mask_in(in)]() -> Tensors {
      return {decode_attention(q, k, v, scale, mask).transpose(1, 2)};
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

  std::optional<at::Tensor> mask_in(const Tensors& in) const {
    return shape_.any_mask().empty() ? std::nullopt : std::optional(in[3]);
  }
  double of_mask() const {
    const Sizes mask = shape_.any_mask();
    return mask.empty() ? 0 : elements(mask);
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
                       .lengths = {},
                       .scale = 0};
  const auto& scale = call.arguments[found->scale];
  if (!scale.isNone() && scale.toDouble() != shape.usual_scale()) shape.scale = scale.toDouble();
  if (found->mask > 0 && given(call.arguments[found->mask])) {
    const at::Tensor& mask = call.arguments[found->mask].toTensor();
    if (shape.queries == 1 && mask.dim() > 0 && mask.size(0) == shape.batch)
      shape.lengths = lengths_of_mask(mask);
    if (shape.lengths.empty()) shape.mask = spanned_sizes(mask);
  }
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
           R"({"batch": 3, "heads": 4, "kv_heads": 2, "queries": 1, "keys": 70, "width": 16, "lengths": [1, 70, 35]})",
           R"({"batch": 2, "heads": 1, "queries": 3, "keys": 7, "width": 5, "mask": [2, 1, 1, 7]})"},
      .fields = fields_of<AttentionShape>,
      .make = make_op<ScaledDotProductAttention, AttentionShape>,
      .match = match_attention};
}

}  // namespace fathom::ops
