#include "ops/profiler/memory_log.h"

#include <c10/core/Allocator.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "ops/profiler/observe.h"
#include "ops/profiler/saved_tensors.h"

namespace fathom::ops {
namespace {

std::size_t place(MemoryClass what) { return static_cast<std::size_t>(what); }

/// The number of the op that runs; 0 between ops.
class OpNumber final : public Observer {
 public:
  bool start(const Event& event) override {
    const bool node = event.what == Event::What::kNode && event.scope < 0;
    nodes_.push_back(node);
    if (!node) now_ = ++last_;
    return !node;
  }

  void end() override {
    if (!nodes_.back()) now_ = 0;
    nodes_.pop_back();
  }

  int64_t now() const { return now_; }

 private:
  std::vector<bool> nodes_;  ///< for each open event, whether it is a node without a scope
  int64_t last_ = 0;
  int64_t now_ = 0;
};

}  // namespace

/// Every allocation and free in order. A second pass sums them, because the class of an allocation
/// becomes known after it.
class MemoryLog::Allocations final : public c10::MemoryReportingInfoBase {
 public:
  explicit Allocations(at::Device device) : device_(device) {}

  bool memoryProfilingEnabled() const override { return true; }

  void reportMemoryUsage(void* memory, int64_t bytes, std::size_t /*allocated*/,
                         std::size_t /*reserved*/, at::Device device) override {
    if (device.type() != device_.type()) return;
    if (bytes > 0) {
      begin(memory, static_cast<double>(bytes));
    } else if (bytes < 0) {
      end(memory);
    }
  }

  void mark(const c10::Storage& storage, MemoryClass what) {
    const void* memory = storage.data();
    if (memory == nullptr || storage.device().type() != device_.type()) return;
    if (!live_.contains(memory)) begin(memory, static_cast<double>(storage.nbytes()));
    MemoryClass& now = all_[live_.at(memory)].what;
    if (now == MemoryClass::kTemporaries) now = what;
  }

  void record_from_here(const OpNumber* op) {
    op_ = op;
    if (op != nullptr) recorded_from_ = events_.size();
  }

  MemoryUse use() const {
    ByMemoryClass<double> now{};
    MemoryUse use{};
    const auto note = [&] {
      const double sum = std::accumulate(now.begin(), now.end(), 0.0);
      for (std::size_t i = 0; i < now.size(); ++i) use.max[i] = std::max(use.max[i], now[i]);
      if (sum <= use.peak) return;
      use.peak = sum;
      use.at_peak = now;
    };
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (i == recorded_from_) note();
      const Allocation& allocation = all_[events_[i].allocation];
      now[place(allocation.what)] += events_[i].begins ? allocation.bytes : -allocation.bytes;
      if (i >= recorded_from_) note();
    }
    return use;
  }

 private:
  struct Allocation {
    double bytes;
    MemoryClass what;
    int64_t op;  ///< that allocated it
  };
  struct Event {
    std::size_t allocation;
    bool begins;
  };

  int64_t op() const { return op_ == nullptr ? 0 : op_->now(); }

  void begin(const void* memory, double bytes) {
    live_[memory] = all_.size();
    events_.push_back({all_.size(), true});
    all_.push_back({.bytes = bytes, .what = MemoryClass::kTemporaries, .op = op()});
  }

  void end(const void* memory) {
    const auto found = live_.find(memory);
    if (found == live_.end()) return;  // allocated before this log began
    Allocation& freed = all_[found->second];
    if (freed.what == MemoryClass::kTemporaries && op() > 0 && freed.op == op()) {
      freed.what = MemoryClass::kWorkspace;
    }
    events_.push_back({found->second, false});
    live_.erase(found);
  }

  at::Device device_;
  const OpNumber* op_ = nullptr;
  std::vector<Allocation> all_;
  std::vector<Event> events_;
  std::size_t recorded_from_ = 0;
  std::unordered_map<const void*, std::size_t> live_;  ///< by address
};

MemoryLog::MemoryLog(at::Device device)
    : allocations_(std::make_shared<Allocations>(device)),
      guard_(c10::DebugInfoKind::PROFILER_STATE, allocations_) {}

MemoryLog::~MemoryLog() = default;

void MemoryLog::mark(const at::Tensor& tensor, MemoryClass what) {
  if (!tensor.defined()) return;
  if (tensor.is_sparse()) {
    mark(tensor._indices(), what);
    mark(tensor._values(), what);
  } else if (tensor.has_storage()) {
    allocations_->mark(tensor.storage(), what);
  }
}

MemoryUse MemoryLog::record(const std::function<void()>& work) {
  struct Recording {
    Allocations& allocations;
    OpNumber op;
    explicit Recording(Allocations& all) : allocations(all) { allocations.record_from_here(&op); }
    ~Recording() { allocations.record_from_here(nullptr); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
  } recording(*allocations_);
  visit_saved_tensors([&](const at::Tensor& saved) { mark(saved, MemoryClass::kFeatures); },
                      [&] { ops::observe(recording.op, work, /*arguments=*/false); });
  return allocations_->use();
}

}  // namespace fathom::ops
