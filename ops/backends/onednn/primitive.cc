#include "ops/backends/onednn/primitive.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace fathom::ops::onednn {
namespace {

using dnnl::memory;
using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

memory::data_type data_type(Element element) {
  switch (element) {
    case Element::kBf16:
      return memory::data_type::bf16;
    case Element::kFp16:
      return memory::data_type::f16;
    case Element::kU8:
      return memory::data_type::u8;
    case Element::kS8:
      return memory::data_type::s8;
    case Element::kS32:
      return memory::data_type::s32;
    default:
      return memory::data_type::f32;
  }
}

/// Creates a primitive and adds the time that it takes to `us`.
Preparation::Created create_timed(const Describe& describe, double& us) {
  const auto begin = Clock::now();
  auto description = describe();
  dnnl::primitive primitive(description.get());
  us += us_since(begin);
  return {std::move(primitive), std::move(description)};
}

/// Empties oneDNN's cache, so that the next primitive is created as in a new process.
void empty_cache() {
  const int capacity = dnnl::get_primitive_cache_capacity();
  dnnl::set_primitive_cache_capacity(0);
  dnnl::set_primitive_cache_capacity(capacity);
}

/// The arguments that hold a kernel's parts.
constexpr std::array<std::pair<Kernel::Part, int>, 3> kParts{
    {{Kernel::Part::kWorkspace, DNNL_ARG_WORKSPACE},
     {Kernel::Part::kMean, DNNL_ARG_MEAN},
     {Kernel::Part::kVariance, DNNL_ARG_VARIANCE}}};

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc layout(const Buffer& buffer) {
  if (buffer.sizes.empty()) return {{1}, data_type(buffer.element), memory::dims{1}};
  return {buffer.sizes, data_type(buffer.element), buffer.strides};
}

memory::desc any_layout(const Buffer& buffer) { return layout_as(buffer, memory::format_tag::any); }

memory::desc layout_as(const Buffer& buffer, memory::format_tag tag) {
  return {buffer.sizes, data_type(buffer.element), tag};
}

Preparation::Created Preparation::create(const Describe& describe) {
  empty_cache();
  create_timed(describe, create_us_);
  return create_timed(describe, create_cached_us_);
}

void Preparation::reorder(memory from, memory to) {
  dnnl::stream stream(engine());
  const dnnl::reorder reorder(from, to);
  const auto begin = Clock::now();
  reorder.execute(stream, from, to);
  stream.wait();
  reorder_us_ += us_since(begin);
}

memory Preparation::reordered(const memory& from, const memory::desc& wanted) {
  if (from.get_desc() == wanted) return from;
  memory to(wanted, engine());
  reorder(from, to);
  return to;
}

std::vector<std::pair<std::string, double>> Preparation::counters() const {
  return {{"create_us", create_us_},
          {"create_cached_us", create_cached_us_},
          {"reorder_us", reorder_us_}};
}

Primitive::Primitive(const Describe& describe, const std::vector<Argument>& inputs,
                     const std::vector<Argument>& outputs, Memories memories)
    : stream_(engine()), memories_(std::move(memories)) {
  const Preparation::Created created = preparation_.create(describe);
  const auto& description = created.description;
  primitive_ = created.primitive;
  implementation_ = description.impl_info_str();

  const auto wanted = [&](int name) {
    return description.query_md(dnnl::query::exec_arg_md, name);
  };
  for (const auto& [name, desc, data] : inputs) {
    const memory from(desc, engine(), data);
    const memory to = preparation_.reordered(from, wanted(name));
    if (to != from) inputs_.push_back({from, to, dnnl::reorder(from, to)});
    add_place(from);
    memories_.insert_or_assign(name, to);
  }
  for (const auto& [name, desc, data] : outputs) {
    memory to(desc, engine(), data);
    add_place(to);
    if (!memories_.contains(name)) {
      const bool fits = wanted(name) == desc;
      memories_.emplace(name, fits ? to : memory(wanted(name), engine()));
      if (fits) continue;
    }
    const memory& from = memories_.at(name);
    outputs_.push_back({from, to, dnnl::reorder(from, to)});
  }
  for (const int name : {DNNL_ARG_DST, DNNL_ARG_WORKSPACE, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE,
                         DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C}) {
    const auto needed = wanted(name);
    if (needed.get_size() > 0 && !memories_.contains(name)) {
      memories_.emplace(name, memory(needed, engine()));
    }
  }
  for (const auto& [part, name] : kParts) {
    if (has(name)) add_place(memories_.at(name));
  }
  if (!outputs_.empty()) run();
  for (const auto& [from, to, reorder] : outputs_) preparation_.reorder(from, to);
}

void Primitive::run() {
  primitive_.execute(stream_, memories_);
  stream_.wait();
}

void Primitive::write_outputs() {
  for (auto& [from, to, reorder] : outputs_) reorder.execute(stream_, from, to);
  stream_.wait();
}

Kernel::Place Primitive::place(Part part) const {
  for (const auto& [known, name] : kParts) {
    if (known != part || !has(name)) continue;
    const memory& found = memories_.at(name);
    return {.data = found.get_data_handle(), .bytes = found.get_desc().get_size()};
  }
  return {};
}

void Primitive::run_over(std::span<void* const> from, std::span<void* const> to) {
  for (auto& [memory, data] : places_) {
    const auto place = std::find(from.begin(), from.end(), data) - from.begin();
    if (place < std::ssize(from)) memory.set_data_handle(to[static_cast<std::size_t>(place)]);
  }
  for (auto& [caller, own, reorder] : inputs_) {
    if (std::ranges::find(to, caller.get_data_handle()) != to.end())
      reorder.execute(stream_, caller, own);
  }
  primitive_.execute(stream_, memories_);
  write_outputs();
}

}  // namespace fathom::ops::onednn
