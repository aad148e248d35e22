#include <ATen/core/Tensor.h>

#include <string>

#include "ops/core/buffer.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// Inputs {x}, outputs {a contiguous copy, its last two dimensions exchanged where `transposed`}.
class Copy final : public Op {
 public:
  Copy(std::vector<int64_t> stored, bool transposed)
      : stored_(std::move(stored)), transposed_(transposed) {}

  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0, .bytes = element_bytes(precision) * 2 * elements(stored_)};
  }

  Tensors inputs(uint64_t seed) const override { return {Draws(seed).normal(stored_)}; }

  Call call(const Tensors& in) const override {
    return
        [source = source(in)]() -> Tensors { return {source.clone(at::MemoryFormat::Contiguous)}; };
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    return CopyProblem{.x = buffer(source(in)), .y = buffer(out[0])};
  }

 private:
  at::Tensor source(const Tensors& in) const {
    return transposed_ ? in[0].transpose(-2, -1) : in[0];
  }

  std::vector<int64_t> stored_;
  bool transposed_;
};

/// Whether the last dimension is not the one that lies together.
bool is_transposed(const at::Tensor& x) {
  return x.dim() > 1 && x.size(-1) > 1 && x.size(-2) > 1 && x.stride(-2) != 0 &&
         x.stride(-2) < x.stride(-1);
}

std::vector<int64_t> exchanged(std::vector<int64_t> sizes) {
  std::swap(sizes.back(), sizes[sizes.size() - 2]);
  return sizes;
}

}  // namespace

/// {"sizes"} of the copy, {"transposed": true} where the source lies the other way.
std::unique_ptr<Op> make_copy(Fields& fields, Pass /*pass*/) {
  auto sizes = fields.sizes("sizes");
  const bool transposed = fields.flag("transposed");
  if (transposed && sizes.size() < 2)
    fields.fail("\"sizes\" has one extent, expected two or more of a \"transposed\" copy");
  return std::make_unique<Copy>(transposed ? exchanged(sizes) : sizes, transposed);
}

/// {"sizes": [rows, columns]} of the source.
std::unique_ptr<Op> make_transpose(Fields& fields, Pass /*pass*/) {
  const auto sizes = fields.sizes("sizes");
  if (sizes.size() != 2) fields.fail("\"sizes\" is not that of a matrix, expected two extents");
  return std::make_unique<Copy>(sizes, /*transposed=*/true);
}

/// copy_(to, from), clone(from), _to_copy(from, type, ...), contiguous(from). None where it
/// changes the element type or repeats elements.
std::vector<SeenOp> recognise_copy(const Seen& seen) {
  const bool given = seen.name == "aten::copy_" || seen.name == "aten::copy";
  if (!given && seen.name != "aten::clone" && seen.name != "aten::_to_copy" &&
      seen.name != "aten::contiguous") {
    return {};
  }
  const c10::IValue& from = seen.arguments[given ? 1 : 0];
  if (!is_plain(from) || !is_plain(seen.arguments[0])) return {};
  const at::Tensor& source = from.toTensor();
  const at::Tensor& target = seen.arguments[0].toTensor();
  if (source.scalar_type() != target.scalar_type() || source.sizes() != target.sizes()) return {};
  if (seen.name == "aten::contiguous" && source.is_contiguous()) return {};  // does nothing
  if (seen.name == "aten::_to_copy" && seen.arguments[1].isInt() &&
      seen.arguments[1].toInt() != static_cast<int64_t>(source.scalar_type())) {
    return {};
  }
  nlohmann::ordered_json fields;
  fields["sizes"] = extents(source);
  // clone and _to_copy keep the layout of a dense source: only contiguous() and copy_ turn it.
  const bool turns = given ? is_transposed(source) != is_transposed(target)
                           : seen.name == "aten::contiguous" && is_transposed(source);
  const bool asked =
      seen.name == "aten::clone" && seen.arguments.size() > 1 && seen.arguments[1].isInt() &&
      seen.arguments[1].toInt() == static_cast<int64_t>(at::MemoryFormat::Contiguous);
  if (turns || (asked && is_transposed(source))) fields["transposed"] = true;
  return {{Pass::kForward, fields}};
}

/// LibTorch turns matrices only when they are copied: seen as copy.
std::vector<SeenOp> recognise_transpose(const Seen& /*seen*/) { return {}; }

}  // namespace fathom::ops
