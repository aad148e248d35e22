#pragma once

#include <chrono>
#include <limits>
#include <map>
#include <vector>

namespace fathom::ops {

/// The kernels that can run calls with equal shapes, by number. Until the fastest is chosen, they
/// take turns and are timed.
class TimedKernels {
 public:
  void add(int number) { kernels_.push_back({number}); }

  bool empty() const { return kernels_.empty(); }

  /// Runs and times the kernel that ran least or, without `turns`, the fastest so far. run(number)
  /// says whether that kernel can run the call; one that cannot is removed. One of them must.
  template <typename Run>
  void run_next(bool turns, Run run) {
    while (true) {
      const auto next = this->next(turns);
      const auto begin = Clock::now();
      if (run(next->number)) return next->add(Clock::now() - begin);
      kernels_.erase(next);
    }
  }

  /// Runs the first kernel that can and returns its number.
  template <typename Run>
  int run_first(Run run) const {
    auto kernel = kernels_.begin();
    while (!run(kernel->number)) ++kernel;
    return kernel->number;
  }

  /// Whether more runs could change which is the fastest.
  bool undecided() const;

  /// Seconds of the fastest timed run of each kernel that has one.
  std::map<int, double> seconds() const;

  /// Removes kernels of which drops(number) is true.
  template <typename Drops>
  void drop_if(Drops drops) {
    std::erase_if(kernels_, [&](const Kernel& kernel) { return drops(kernel.number); });
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Kernel {
    int number;
    int runs = 0;
    double spent = 0;  ///< seconds, on timed runs
    /// Of the fastest timed run.
    double seconds = std::numeric_limits<double>::infinity();

    void add(Clock::duration taken);
  };

  std::vector<Kernel>::iterator next(bool turns);

  std::vector<Kernel> kernels_;
};

}  // namespace fathom::ops
