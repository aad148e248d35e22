#pragma once

#include <functional>
#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "ops/backends/onednn/dnnl.h"
#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops::onednn {

/// The CPU engine, one for the process.
const dnnl::engine& engine();

/// The descriptor of a buffer in its own layout.
dnnl::memory::desc layout(const Buffer& buffer);

/// A descriptor of the same extents and type; the primitive chooses the layout.
dnnl::memory::desc any_layout(const Buffer& buffer);

/// A descriptor of the same extents and type in the layout `tag`.
dnnl::memory::desc layout_as(const Buffer& buffer, dnnl::memory::format_tag tag);

/// The caller's memory for an argument of a primitive (DNNL_ARG_SRC).
struct Argument {
  Argument(int argument, const Buffer& buffer) : Argument(argument, buffer, layout(buffer)) {}
  /// Describes the buffer with other extents than its own, such as a bias with two dimensions.
  Argument(int argument, const Buffer& buffer, dnnl::memory::desc description)
      : name(argument), desc(std::move(description)), data(buffer.data) {}
  Argument(int argument, const dnnl::memory& memory)
      : name(argument), desc(memory.get_desc()), data(memory.get_data_handle()) {}

  int name;
  dnnl::memory::desc desc;
  void* data;
};

/// Describes a primitive. It is called more than once, to time each creation.
using Describe = std::function<dnnl::primitive_desc_base()>;

/// Creates primitives and reorders memory, and measures the time of both (Kernel::counters).
class Preparation {
 public:
  struct Created {
    dnnl::primitive primitive;
    dnnl::primitive_desc_base description;
  };
  Created create(const Describe& describe);

  void reorder(dnnl::memory from, dnnl::memory to);

  /// `from` if it has the wanted layout, otherwise a copy in that layout.
  dnnl::memory reordered(const dnnl::memory& from, const dnnl::memory::desc& wanted);

  std::vector<std::pair<std::string, double>> counters() const;

 private:
  double create_us_ = 0;
  double create_cached_us_ = 0;
  double reorder_us_ = 0;
};

/// One primitive. Arguments for which it needs another layout or type are reordered: inputs in the
/// constructor, outputs in write_outputs().
class Primitive final : public Kernel {
 public:
  using Memories = std::unordered_map<int, dnnl::memory>;

  /// `memories` are already in the primitive's layout, such as a workspace. An output may be listed
  /// more than once, to be copied. The constructor allocates workspaces and other memory that the
  /// primitive writes but no argument names.
  Primitive(const Describe& describe, const std::vector<Argument>& inputs,
            const std::vector<Argument>& outputs, Memories memories = {});

  void run() override;
  void write_outputs() override;
  Place place(Part part) const override;
  void run_over(std::span<void* const> from, std::span<void* const> to) override;
  std::string implementation() const override { return implementation_; }
  std::vector<std::pair<std::string, double>> counters() const override {
    return preparation_.counters();
  }

  bool has(int name) const { return memories_.contains(name); }
  /// The memory of an argument in the primitive's layout.
  const dnnl::memory& argument(int name) const { return memories_.at(name); }

 private:
  /// A reorder between the primitive's layout and the caller's.
  struct Move {
    dnnl::memory from, to;
    dnnl::reorder reorder;
  };
  /// Memory that run_over() may find elsewhere, and where it was at first.
  struct Placed {
    dnnl::memory memory;
    void* data;
  };

  void add_place(const dnnl::memory& memory) {
    places_.push_back({memory, memory.get_data_handle()});
  }

  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::string implementation_;
  Memories memories_;
  std::vector<Move> inputs_;
  std::vector<Move> outputs_;
  std::vector<Placed> places_;
  Preparation preparation_;
};

}  // namespace fathom::ops::onednn
