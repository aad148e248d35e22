#include <functional>
#include <unordered_map>

#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Memories = std::unordered_map<int, memory>;

/// Primitives that run in sequence, because oneDNN's RNN primitive has no clipped ReLU.
class Chain final : public Kernel {
 public:
  /// Creates a primitive that any number of steps may run.
  Preparation::Created create(const Describe& describe) {
    auto created = preparation_.create(describe);
    const std::string name = created.description.impl_info_str();
    if (implementation_.find(name) == std::string::npos)
      implementation_ += (implementation_.empty() ? "" : " + ") + name;
    return created;
  }

  /// Weights in the layout that the primitive chose.
  memory weights(const memory::desc& desc, void* data, const Preparation::Created& created) {
    return preparation_.reordered(memory(desc, engine(), data),
                                  created.description.query_md(dnnl::query::weights_md));
  }

  void append(const dnnl::primitive& primitive, Memories memories) {
    steps_.emplace_back(primitive, std::move(memories));
  }

  /// Keeps `contents` alive for the steps that read it.
  Buffer keep(const memory::dims& sizes, const memory::dims& strides, std::vector<float> contents) {
    kept_ = std::move(contents);
    return {.data = kept_.data(), .element = Element::kFp32, .sizes = sizes, .strides = strides};
  }

  void run() override {
    for (const auto& [primitive, memories] : steps_) primitive.execute(stream_, memories);
    stream_.wait();
  }
  std::string implementation() const override { return implementation_; }
  std::vector<std::pair<std::string, double>> counters() const override {
    return preparation_.counters();
  }

 private:
  dnnl::stream stream_{engine()};
  std::vector<std::pair<dnnl::primitive, Memories>> steps_;
  std::vector<float> kept_;
  Preparation preparation_;
  std::string implementation_;
};

/// The last two dimensions of [T, N, H].
memory::desc frame_layout(const Buffer& all) {
  const memory::desc desc = layout(all);
  return {{all.sizes[1], all.sizes[2]}, desc.get_data_type(), {all.strides[1], all.strides[2]}};
}

/// Memory with the descriptor `desc`, from frame `t` on.
memory at_frame(const Buffer& all, int64_t t, const memory::desc& desc) {
  const int64_t bytes = all.element == Element::kFp32 ? 4 : 2;
  return {desc, engine(), static_cast<char*>(all.data) + t * all.strides[0] * bytes};
}

memory frame(const Buffer& all, int64_t t) { return at_frame(all, t, frame_layout(all)); }

memory::desc transposed(const Buffer& matrix) { return layout(matrix).permute_axes({1, 0}); }

dnnl::primitive_attr with(const dnnl::post_ops& after) {
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  return attributes;
}

/// Appends the steps that apply the gate to the frame `from` and write `to`.
using AppendGate = std::function<void(int64_t t, const memory& from, const memory& to)>;

/// to_t = gate(added_t + to_before · weights), frame by frame from the last or the first one.
void append_frames(Chain& chain, const Buffer& added, const Buffer& to, const memory::desc& weights,
                   void* data, bool from_last, const AppendGate& append_gate) {
  const int64_t count = to.sizes[0];
  const int64_t first = from_last ? count - 1 : 0;
  const int64_t step = from_last ? -1 : 1;
  append_gate(first, frame(added, first), frame(to, first));
  if (count == 1) return;
  const memory::desc state = frame_layout(to);
  dnnl::post_ops adds;
  adds.append_binary(algorithm::binary_add, frame_layout(added));
  const auto product = chain.create([&] {
    const memory::desc any(weights.get_dims(), weights.get_data_type(), memory::format_tag::any);
    return dnnl::matmul::primitive_desc(engine(), state, any, state, with(adds));
  });
  const memory wanted = chain.weights(weights, data, product);
  for (int64_t t = first + step; t >= 0 && t < count; t += step) {
    chain.append(product.primitive,
                 {{DNNL_ARG_SRC, frame(to, t - step)},
                  {DNNL_ARG_WEIGHTS, wanted},
                  {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, frame(added, t)},
                  {DNNL_ARG_DST, frame(to, t)}});
    append_gate(t, frame(to, t), frame(to, t));
  }
}

/// [T, N]: 1 in the frames of an utterance, 0 beyond its end.
std::vector<float> mask(int64_t count, const std::vector<int64_t>& frames) {
  std::vector<float> made;
  for (int64_t t = 0; t < count; ++t) {
    for (const int64_t length : frames) made.push_back(t < length ? 1 : 0);
  }
  return made;
}

std::unique_ptr<Kernel> forward(const ClippedRnnProblem& problem,
                                const ClippedRnnProblem::Forward& pass) {
  const Buffer& h = problem.h;
  const int64_t count = h.sizes[0];
  const int64_t n = h.sizes[1];
  auto chain = std::make_unique<Chain>();
  const Buffer kept = chain->keep({count, n, 1}, {n, 1, 1}, mask(count, pass.frames));
  // The mask is not a post-op of the product, because oneDNN has no fast product with it.
  const auto gate = chain->create([&] {
    const memory::desc state = frame_layout(h);
    dnnl::post_ops clips;
    clips.append_eltwise(algorithm::eltwise_clip, 0, static_cast<float>(problem.max));
    return dnnl::binary::primitive_desc(engine(), algorithm::binary_mul, state, frame_layout(kept),
                                        state, with(clips));
  });
  append_frames(*chain, pass.x, h, transposed(problem.recurrent), problem.recurrent.data,
                problem.reverse, [&](int64_t t, const memory& from, const memory& to) {
                  chain->append(gate.primitive, {{DNNL_ARG_SRC_0, from},
                                                 {DNNL_ARG_SRC_1, frame(kept, t)},
                                                 {DNNL_ARG_DST, to}});
                });
  return chain;
}

/// Σ dx_tᵀ h_before over all frames but the first; zeros for a single frame.
void append_recurrent_gradient(Chain& chain, const ClippedRnnProblem& problem,
                               const ClippedRnnProblem::Backward& pass) {
  const memory::desc product = layout(pass.drecurrent);
  const memory target(product, engine(), pass.drecurrent.data);
  const int64_t count = pass.dx.sizes[0] - 1;
  if (count == 0) {
    const auto zero = chain.create([&] {
      return dnnl::eltwise_forward::primitive_desc(engine(), dnnl::prop_kind::forward_inference,
                                                   algorithm::eltwise_linear,
                                                   layout(problem.recurrent), product, 0, 0);
    });
    chain.append(
        zero.primitive,
        {{DNNL_ARG_SRC, memory(layout(problem.recurrent), engine(), problem.recurrent.data)},
         {DNNL_ARG_DST, target}});
    return;
  }
  const auto rows = [&](const Buffer& all) -> memory::desc {
    return {{count * all.sizes[1], all.sizes[2]},
            product.get_data_type(),
            {all.strides[1], all.strides[2]}};
  };
  const memory::desc now = rows(pass.dx).permute_axes({1, 0});
  const memory::desc before = rows(problem.h);
  const auto sum =
      chain.create([&] { return dnnl::matmul::primitive_desc(engine(), now, before, product); });
  chain.append(sum.primitive,
               {{DNNL_ARG_SRC, at_frame(pass.dx, problem.reverse ? 0 : 1, now)},
                {DNNL_ARG_WEIGHTS, at_frame(problem.h, problem.reverse ? 1 : 0, before)},
                {DNNL_ARG_DST, target}});
}

std::unique_ptr<Kernel> backward(const ClippedRnnProblem& problem,
                                 const ClippedRnnProblem::Backward& pass) {
  const Buffer& h = problem.h;
  auto chain = std::make_unique<Chain>();
  const auto gate = chain->create([&] {
    constexpr auto clip = algorithm::eltwise_clip_v2;  // the gradient is 0 at 0 and at `max`
    const memory::desc state = frame_layout(h);
    const auto max = static_cast<float>(problem.max);
    const dnnl::eltwise_forward::primitive_desc hint(engine(), dnnl::prop_kind::forward_training,
                                                     clip, state, state, 0, max);
    return dnnl::eltwise_backward::primitive_desc(engine(), clip, state, state, state, 0, max,
                                                  hint);
  });
  append_frames(*chain, pass.g, pass.dx, layout(problem.recurrent), problem.recurrent.data,
                !problem.reverse, [&](int64_t t, const memory& from, const memory& to) {
                  chain->append(gate.primitive, {{DNNL_ARG_SRC, frame(h, t)},
                                                 {DNNL_ARG_DIFF_DST, from},
                                                 {DNNL_ARG_DIFF_SRC, to}});
                });
  append_recurrent_gradient(*chain, problem, pass);
  return chain;
}

}  // namespace

std::unique_ptr<Kernel> make(const ClippedRnnProblem& problem) {
  const auto* pass = std::get_if<ClippedRnnProblem::Forward>(&problem.pass);
  return pass != nullptr ? forward(problem, *pass)
                         : backward(problem, std::get<ClippedRnnProblem::Backward>(problem.pass));
}

}  // namespace fathom::ops::onednn
