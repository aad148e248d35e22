#pragma once

#include <functional>
#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops::onednn {

/// The CPU engine, one for the process.
const dnnl::engine& engine();

/// A buffer as it lies.
dnnl::memory::desc layout(const Buffer& buffer);

/// A tensor of the same extents and type whose layout is the primitive's to choose.
dnnl::memory::desc any_layout(const Buffer& buffer);

/// A tensor of the same extents and type in a named layout.
dnnl::memory::desc layout_as(const Buffer& buffer, dnnl::memory::format_tag tag);

/// The caller's memory, by the name of a primitive's argument (DNNL_ARG_SRC).
struct Argument {
  Argument(int argument, const Buffer& buffer) : Argument(argument, buffer, layout(buffer)) {}
  /// With other extents than the buffer's own, as in a bias of two dimensions.
  Argument(int argument, const Buffer& buffer, dnnl::memory::desc as)
      : name(argument), lies(std::move(as)), data(buffer.data) {}

  int name;
  dnnl::memory::desc lies;
  void* data;
};

/// Describes a primitive; called more than once, to see what each creation takes.
using Describe = std::function<dnnl::primitive_desc_base()>;

/// What a kernel takes to prepare (Kernel::figures).
class Preparation {
 public:
  struct Created {
    dnnl::primitive primitive;
    dnnl::primitive_desc_base description;
  };
  Created create(const Describe& describe);

  void reorder(dnnl::memory from, dnnl::memory to);

  /// `from` itself where it lies as wanted, else a copy that does.
  dnnl::memory reordered(const dnnl::memory& from, const dnnl::memory::desc& wanted);

  std::vector<std::pair<std::string, double>> figures() const;

 private:
  double create_us_ = 0;
  double create_cached_us_ = 0;
  double reorder_us_ = 0;
};

/// One primitive. Arguments that it wants in another layout, or of another type, are reordered:
/// inputs here, outputs in write_outputs().
class Primitive final : public Kernel {
 public:
  using Memories = std::unordered_map<int, dnnl::memory>;

  /// `memories` are the library's own already, such as a workspace. An output may be named more
  /// than once, for copies of it. Workspaces and whatever else the primitive writes but no argument
  /// names are made here.
  Primitive(const Describe& describe, const std::vector<Argument>& inputs,
            const std::vector<Argument>& outputs, Memories memories = {});

  void run() override;
  void write_outputs() override;
  std::string implementation() const override { return implementation_; }
  std::vector<std::pair<std::string, double>> figures() const override {
    return preparation_.figures();
  }

  bool has(int name) const { return memories_.contains(name); }
  /// As the primitive has it.
  const dnnl::memory& argument(int name) const { return memories_.at(name); }

 private:
  /// From the library's layout into the caller's.
  struct Output {
    dnnl::memory from, to;
    dnnl::reorder reorder;
  };

  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::string implementation_;
  Memories memories_;
  std::vector<Output> reordered_;
  Preparation preparation_;
};

}  // namespace fathom::ops::onednn
