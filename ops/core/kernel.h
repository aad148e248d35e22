#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fathom::ops {

/// A library does not support a problem, in this precision or on this machine. The message is the
/// library's.
class NotSupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A GPU's memory does not suffice.
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A library call prepared for one problem, over buffers that the caller keeps alive.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run() = 0;
  /// Completes the results in the caller's buffers: run() may leave them elsewhere, in the
  /// library's own layout or type. May run the call once more.
  virtual void write_outputs() {}

  /// Memory that a kernel keeps from a forward pass for the gradient, or computes besides.
  enum class Part { kWorkspace, kMean, kVariance };
  struct Place {
    void* data = nullptr;  ///< null where the kernel has no such part
    std::size_t bytes = 0;
  };
  virtual Place place(Part /*part*/) const { return {}; }

  /// Runs the whole call over other memory of the same layouts, reorders included: what was at
  /// from[i] when the kernel was made, a buffer of its problem or a place(), is at to[i]. All other
  /// inputs must hold what they held then. Throws std::logic_error for kernels that cannot.
  virtual void run_over(std::span<void* const> /*from*/, std::span<void* const> /*to*/) {
    throw std::logic_error("this kernel runs over its own buffers only");
  }
  /// The implementation that the library chose, by the library's own name.
  virtual std::string implementation() const = 0;
  /// The cost of preparing the kernel, by name of the JSON field.
  virtual std::vector<std::pair<std::string, double>> counters() const = 0;
};

}  // namespace fathom::ops
