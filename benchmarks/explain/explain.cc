#include "benchmarks/explain/explain.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/step.h"

namespace fathom::benchmarks {
namespace {

using Time = std::optional<double>;

constexpr double kNoise = 1.25;  // of two measurements of the same step

/// Absent where a part is.
template <typename Parts, typename Part>
Time sum(const Parts& parts, Part part) {
  double all = 0;
  for (const auto& each : parts) {
    const Time time = part(each);
    if (!time) return std::nullopt;
    all += *time;
  }
  return all;
}

Time times(const ExplainedOp& op, Time us) {
  return us ? Time(*us * static_cast<double>(op.count)) : std::nullopt;
}

std::optional<Timing> on(const std::string& backend, const std::map<std::string, double>& us,
                         std::optional<double> taken_us) {
  const auto found = us.find(backend);
  if (found == us.end()) return std::nullopt;
  return Timing{.us = found->second, .taken_us = taken_us};
}

/// The shortest time; absent where that of the step's own backend is.
Time fastest(const std::string& in_steps, const std::map<std::string, double>& us) {
  if (!us.contains(in_steps)) return std::nullopt;
  const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::min_element(us.begin(), us.end(), faster)->second;
}

Time first_known(Time a, Time b) { return a ? a : b; }

/// Disjoint sets of ops: those that a call computes together are in one.
class Groups {
 public:
  explicit Groups(std::size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }
  std::size_t of(std::size_t one) const {
    while (parents_[one] != one) one = parents_[one];
    return one;
  }
  void join(std::size_t a, std::size_t b) {
    parents_[std::max(of(a), of(b))] = std::min(of(a), of(b));
  }

 private:
  std::vector<std::size_t> parents_;
};

void add(std::vector<Unclaimed>& all, const Unclaimed& more) {
  const auto same = std::find_if(all.begin(), all.end(),
                                 [&](const Unclaimed& one) { return one.type == more.type; });
  if (same == all.end()) {
    all.push_back(more);
  } else {
    same->us += more.us;
  }
}

/// The times of calls in the profiled step, each with the index of the first op that it computes,
/// and the step's other times.
struct Calls {
  std::vector<std::pair<std::size_t, double>> us;
  ProfiledStep step;
};

/// Also joins the ops that one call computes in `groups`.
Calls calls_of(const ops::ShapeProfile& profiled, const std::vector<ExplainedOp>& ops,
               Groups& groups) {
  const double us = 1e6 / static_cast<double>(profiled.steps);
  Calls calls{.us = {}, .step = {.step_us = profiled.seconds * us, .unclaimed = {}}};
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < ops.size(); ++i) places.emplace(ops[i].key, i);
  auto& unclaimed = calls.step.unclaimed;
  int64_t count = 0;
  for (const auto& shape : profiled.shapes) {
    count += shape.count;
    std::optional<std::size_t> first;
    for (const auto& key : shape.keys) {
      const auto op = places.find(key);
      if (op == places.end()) continue;
      if (!first) first = op->second;
      groups.join(*first, op->second);
    }
    if (first) {
      calls.us.emplace_back(*first, shape.seconds * us);
    } else {
      add(unclaimed, {shape.type, shape.op_class, shape.seconds * us});
    }
  }
  calls.step.calls = count / profiled.steps;
  std::stable_sort(unclaimed.begin(), unclaimed.end(),
                   [](const Unclaimed& a, const Unclaimed& b) { return a.us > b.us; });
  return calls;
}

}  // namespace

bool gpu_contradicts_step(double timed_us, double busy_us) { return busy_us > kNoise * timed_us; }

bool is_better(const Timing& a, const Timing& b) {
  const auto taken = [](const Timing& one) { return one.disturbed() ? *one.taken_us : 0; };
  return std::pair(taken(a), a.us) < std::pair(taken(b), b.us);
}

bool hot_contradicts_step(double hot_us, double in_step_us, int64_t calls) {
  constexpr double kLonger = 1.5;
  constexpr double kDispatchUs = 10;
  return hot_us > kLonger * in_step_us &&
         hot_us - in_step_us > kDispatchUs * static_cast<double>(calls);
}

bool profile_contradicts_step(double timed_us, double profiled_us, int64_t calls) {
  constexpr double kLonger = 1.5;
  constexpr double kProfilerUs = 3;
  return timed_us > kNoise * profiled_us ||
         profiled_us > kLonger * timed_us + kProfilerUs * static_cast<double>(calls);
}

std::optional<Timing> ExplainedOp::hot_call() const { return on(in_steps, hot_us, hot_taken_us); }

std::optional<Timing> ExplainedOp::cold_call() const {
  return on(in_steps, cold_us, cold_taken_us);
}

std::optional<double> ExplainedOp::hot() const {
  const auto call = hot_call();
  return call ? times(*this, call->us) : std::nullopt;
}

std::optional<double> ExplainedOp::cold() const {
  const auto call = cold_call();
  return call ? times(*this, call->us) : std::nullopt;
}

double ExplainedOp::least_hot() const {
  const auto call = hot_call();
  return call ? call->least_us() * static_cast<double>(count) : 0;
}

std::optional<double> ExplainedOp::best() const { return times(*this, fastest(in_steps, hot_us)); }

std::optional<double> ExplainedOp::best_cold() const {
  return times(*this, fastest(in_steps, cold_us));
}

std::optional<std::string> ExplainedOp::other() const {
  std::optional<std::string> fastest;
  for (const auto& [backend, us] : hot_us) {
    if (backend != in_steps && (!fastest || us < hot_us.at(*fastest))) fastest = backend;
  }
  return fastest;
}

std::optional<double> ExplainedOp::other_us() const {
  const auto backend = other();
  return backend ? times(*this, hot_us.at(*backend)) : std::nullopt;
}

bool ExplainedLine::contradicts() const {
  const Time separate = hot();
  if (on_gpu || !separate || !in_step_us) return false;
  int64_t calls = 0;
  for (const auto& op : ops) calls += op.count;
  return hot_contradicts_step(*separate, *in_step_us, calls);
}

std::optional<double> ExplainedLine::hot() const {
  return sum(ops, [](const ExplainedOp& op) { return op.hot(); });
}

std::optional<double> ExplainedLine::cold() const {
  return sum(ops, [](const ExplainedOp& op) { return op.cold(); });
}

std::optional<double> ExplainedLine::least_cold() const {
  return sum(ops, [](const ExplainedOp& op) {
    const auto call = op.cold_call();
    return call ? times(op, call->least_us()) : std::nullopt;
  });
}

std::optional<double> ExplainedLine::best() const {
  return sum(ops, [](const ExplainedOp& op) { return op.best(); });
}

std::optional<double> ExplainedLine::other_us() const {
  return sum(ops, [](const ExplainedOp& op) { return op.other_us(); });
}

std::optional<double> ExplainedLine::tax() const {
  const Time separate = best();
  if (!in_step_us || !separate || *separate <= 0) return std::nullopt;
  return 100 * (*in_step_us / *separate - 1);
}

std::optional<PeakShare> ExplainedLine::peak() const {
  double whole = 0;
  double reached = 0;
  for (const auto& op : ops) {
    const Time time = op.hot();
    if (!time || !op.peak || op.peak->of != ops[0].peak->of) return std::nullopt;
    whole += *time;
    reached += *time * op.peak->percent;
  }
  if (whole <= 0) return std::nullopt;
  return PeakShare{.of = ops[0].peak->of, .percent = reached / whole};
}

double OtherStep::saving_us(const ops::ChosenKernel& kernel) {
  return static_cast<double>(kernel.calls) / models::kBatches * kernel.saved_us();
}

double ProfiledStep::between_us() const {
  double all = 0;
  for (const auto& part : unclaimed) all += part.op_class == ops::OpClass::kFramework ? part.us : 0;
  return all;
}

double ProfiledStep::without_rows_us() const {
  double all = 0;
  for (const auto& part : unclaimed) all += part.op_class == ops::OpClass::kFramework ? 0 : part.us;
  return all;
}

bool Explanation::contradicts() const {
  if (!step_us || !profiled) return false;
  return on_gpu() ? gpu_contradicts_step(*step_us, profiled->step_us)
                  : profile_contradicts_step(*step_us, profiled->step_us, profiled->calls);
}

std::optional<double> Explanation::host_us() const {
  if (!on_gpu() || !step_us || !profiled) return std::nullopt;
  return std::max(0.0, *step_us - profiled->step_us);
}

std::optional<double> Explanation::in_step() const {
  if (!profiled) return std::nullopt;
  return sum(lines, [](const ExplainedLine& line) { return Time(line.in_step_us.value_or(0)); });
}

std::optional<double> Explanation::hot() const {
  return sum(lines, [](const ExplainedLine& line) { return line.hot(); });
}

std::optional<double> Explanation::cold() const {
  return sum(lines, [](const ExplainedLine& line) {
    return sum(line.ops, [](const ExplainedOp& op) { return first_known(op.cold(), op.hot()); });
  });
}

std::optional<double> Explanation::best() const {
  return sum(lines, [](const ExplainedLine& line) { return line.best(); });
}

std::optional<double> Explanation::best_cold() const {
  return sum(lines, [](const ExplainedLine& line) {
    return sum(line.ops,
               [](const ExplainedOp& op) { return first_known(op.best_cold(), op.best()); });
  });
}

Explanation explain(const Setting& setting, std::optional<double> step_us,
                    std::vector<ExplainedOp> ops, const ops::ShapeProfile* profiled) {
  Explanation all{.setting = setting, .step_us = step_us, .lines = {}, .profiled = {}};
  Groups groups(ops.size());
  std::map<std::size_t, double> in_step;
  if (profiled != nullptr) {
    const Calls calls = calls_of(*profiled, ops, groups);
    for (const auto& [op, us] : calls.us) in_step[groups.of(op)] += us;
    all.profiled = calls.step;
  }
  std::map<std::size_t, ExplainedLine> lines;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    lines[groups.of(i)].ops.push_back(std::move(ops[i]));
  }
  for (auto& [group, line] : lines) {
    line.on_gpu = all.on_gpu();
    if (const auto time = in_step.find(group); time != in_step.end())
      line.in_step_us = time->second;
    all.lines.push_back(std::move(line));
  }
  const auto length = [](const ExplainedLine& line) {
    return line.in_step_us.value_or(line.hot().value_or(0));
  };
  std::stable_sort(
      all.lines.begin(), all.lines.end(),
      [&](const ExplainedLine& a, const ExplainedLine& b) { return length(a) > length(b); });
  return all;
}

}  // namespace fathom::benchmarks
