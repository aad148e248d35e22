#include "benchmarks/explain/explain_findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "benchmarks/explain/explain_text.h"
#include "ops/types/table.h"

namespace fathom::benchmarks {
namespace {

// A kernel counts as faster from this ratio on; less may be noise.
constexpr double kFaster = 1.05;
// A time is well above another one from this ratio on, and near it within the share kNear.
constexpr double kWellAbove = 1.25;
constexpr double kNear = 0.25;
constexpr double kWorthwhile = 0.001;  // of the step: less is printed as 0.0 %

/// Of the backends of ops, in the order of their names.
constexpr std::array<std::string_view, 5> kOwners{"LibTorch's", "oneDNN's", "cuBLAS's", "cuDNN's",
                                                  "fathom_bench's own"};
static_assert(kOwners.size() < ops::kBackendNames.size());

/// Whose kernels a backend runs. A user's library has a name of its own.
std::string owner(const std::string& backend) {
  for (std::size_t i = 0; i < kOwners.size(); ++i) {
    if (backend == ops::kBackendNames[i]) return std::string(kOwners[i]);
  }
  return backend + "'s";
}

std::string ms(double us) { return significant(us / 1e3) + " ms"; }

std::string shapes(int count) {
  return count == 1 ? "one shape" : std::to_string(count) + " shapes";
}

/// Ops of one type and pass that another backend runs faster.
struct Slower {
  std::string name;
  std::string in_steps;
  std::set<std::string> others;
  int shapes = 0;
  double us = 0;
  double other_us = 0;
  double saving_us = 0;
  bool bounded = false;  ///< the step spends less time than the difference

  Finding finding() const {
    const std::string rival = others.size() > 1 ? "the fastest" : owner(*others.begin());
    std::string words = owner(in_steps) + ' ' + name + " takes " + significant(us / other_us) +
                        " times " + rival + ": " + ms(us) + " against " + ms(other_us) +
                        ", run separately, over " + fathom::benchmarks::shapes(shapes);
    if (bounded) words += "; in the step it takes less, which bounds the saving";
    return {.kind = "kernel", .saving_us = saving_us, .at_most = false, .words = words};
  }
};

void add_kernels(std::vector<Finding>& all, const Explanation& explanation) {
  std::map<std::string, Slower> groups;
  for (const auto& line : explanation.lines) {
    if (line.contradicts()) continue;
    const auto best = line.best();
    const bool bounds = line.in_step_us && best && !explanation.contradicts();
    double room = bounds ? *line.in_step_us - *best : std::numeric_limits<double>::infinity();
    for (const auto& op : line.ops) {
      const auto hot = op.hot();
      const auto other = op.other_us();
      if (!hot || !other || op.least_hot() < kFaster * *other || room <= 0) continue;
      const double difference = op.least_hot() - *other;
      const std::string name = op.type + ' ' + std::string(ops::name(op.pass));
      auto& group = groups[name + ' ' + op.in_steps];
      group.name = name;
      group.in_steps = op.in_steps;
      group.others.insert(*op.other());
      ++group.shapes;
      group.us += *hot;
      group.other_us += *other;
      group.saving_us += std::min(difference, room);
      group.bounded = group.bounded || room < difference;
      room -= difference;
    }
  }
  for (const auto& [key, group] : groups) all.push_back(group.finding());
}

/// Lines of one type and its passes that take longer in the step than run separately.
struct Longer {
  int shapes = 0;
  double in_step = 0;
  double hot = 0;
  double saving_us = 0;
  std::optional<double> cold = 0;  ///< absent where one of them is
  bool elementwise = false;

  void add(const ExplainedLine& line, double saving) {
    ++shapes;
    in_step += *line.in_step_us;
    hot += *line.hot();
    saving_us += saving;
    const auto more = line.cold();
    cold = cold && more ? std::optional(*cold + *more) : std::nullopt;
    const auto* type = ops::op_type(line.ops[0].type);
    elementwise = type != nullptr && type->op_class == ops::OpClass::kElementwise;
  }

  std::string times() const {
    return ms(in_step) + " in the step; run separately, " + ms(hot) +
           " with its data in the caches" + (cold ? " and " + ms(*cold) + " in memory" : "") +
           ", over " + fathom::benchmarks::shapes(shapes);
  }
};

/// "conv2d dgrad+wgrad".
std::string name_of(const ExplainedLine& line) { return line_type(line) + ' ' + line_passes(line); }

/// Others may have taken their time from any op of the profiled step, so each line must hold
/// without all of it.
void add_lines(std::vector<Finding>& all, const Explanation& explanation) {
  if (!explanation.profiled || explanation.contradicts()) return;
  std::map<std::string, Longer> waiting;
  std::map<std::string, Longer> unexplained;
  for (const auto& line : explanation.lines) {
    const auto hot = line.hot();
    const auto cold = line.cold();
    if (!line.in_step_us || !hot || line.contradicts()) continue;
    const double in_step = Timing{*line.in_step_us, explanation.profiled->taken_us}.least_us();
    const double longest = std::max(*hot, cold.value_or(0));
    if (in_step > kWellAbove * longest) {
      // Lines without a cold time form groups of their own.
      unexplained[name_of(line) + (cold ? "" : " ")].add(line, in_step - longest);
    } else if (cold && in_step > kWellAbove * *hot &&
               std::abs(in_step - *line.least_cold()) < kNear * *line.least_cold()) {
      waiting[name_of(line)].add(line, in_step - *hot);
    }
  }
  for (const auto& [name, group] : waiting) {
    all.push_back(
        {.kind = "memory",
         .saving_us = group.saving_us,
         .at_most = true,
         .words = name + " waits for memory: " + group.times() + ". " +
                  (group.elementwise ? "Fusing it with the op that computes its input would help"
                                     : "Keeping its data in the caches would help")});
  }
  for (const auto& [name, group] : unexplained) {
    const std::string threads = explanation.setting.threads > 1 ? " or waking threads" : "";
    const std::string others = explanation.on_gpu()
                                   ? "a lower clock"
                                   : "page faults (try --fathom_malloc=tuned)" + threads;
    const std::string why =
        group.cold ? "Neither the kernel nor its data explains the difference; " + others + " may"
                   : "It was not run with its data in memory, which may explain the difference";
    all.push_back({.kind = "in_step",
                   .saving_us = group.saving_us,
                   .at_most = true,
                   .words = name.substr(0, name.find_last_not_of(' ') + 1) +
                            " takes longer in the step: " + group.times() + ". " + why});
  }
}

/// A step that a CUDA graph replays does not wait for the host.
void add_host(std::vector<Finding>& all, const Explanation& explanation) {
  const auto host = explanation.host_us();
  if (!host || explanation.contradicts()) return;
  const double least = *host - 2 * explanation.step_taken_us.value_or(0);
  if (least <= 0) return;
  all.push_back({.kind = "host",
                 .saving_us = least,
                 .at_most = true,
                 .words = "the GPU is idle for " + ms(*host) +
                          ": launches and synchronisations on the host take longer than the GPU's "
                          "work. A CUDA graph or a larger batch would help"});
}

/// Profiling lengthens the step, mostly between ops. The time that it added is no saving.
void add_between(std::vector<Finding>& all, const Explanation& explanation) {
  if (explanation.on_gpu()) return;
  if (!explanation.profiled || !explanation.step_us || explanation.contradicts()) return;
  const ProfiledStep& profiled = *explanation.profiled;
  const double between = Timing{profiled.between_us(), profiled.taken_us}.least_us();
  const double step = Timing{*explanation.step_us, explanation.step_taken_us}.least_us();
  const double added = std::max(0.0, profiled.step_us - step);
  if (between <= added) return;
  all.push_back({.kind = "between_ops",
                 .saving_us = between - added,
                 .at_most = true,
                 .words = ms(profiled.between_us()) +
                          " pass between ops (dispatch, autograd, allocation)" +
                          (added > 0 ? ", of which profiling may have added " + ms(added) : "")});
}

/// The row of an op from which others took the largest share, if that is disturbed.
std::string most_disturbed_op(const Explanation& explanation) {
  double most = 0;
  std::string words;
  const auto offer = [&](const ExplainedLine& line, const char* cache, const Timing& call) {
    if (!call.disturbed() || *call.taken_us / call.us <= most) return;
    most = *call.taken_us / call.us;
    words = ms(*call.taken_us) + " of a call of " + line_name(line) + ", " + cache;
  };
  for (const auto& line : explanation.lines) {
    for (const auto& op : line.ops) {
      if (const auto hot = op.hot_call()) offer(line, "hot", *hot);
      if (const auto cold = op.cold_call()) offer(line, "cold", *cold);
    }
  }
  return words;
}

/// What others took of the times, on average; empty where none is disturbed.
std::string taken_times(const Explanation& explanation) {
  std::string words;
  const auto add = [&](const std::string& more) {
    if (!more.empty()) words += (words.empty() ? "" : "; ") + more;
  };
  const auto add_step = [&](const std::string& kind, const Timing& step) {
    if (step.disturbed()) add(ms(*step.taken_us) + " of a " + kind + " step");
  };
  if (explanation.step_us) add_step("timed", {*explanation.step_us, explanation.step_taken_us});
  if (const auto& profiled = explanation.profiled) {
    add_step("profiled", {profiled->step_us, profiled->taken_us});
  }
  for (const auto& other : explanation.others) add_step(other.backend, other.time);
  add(most_disturbed_op(explanation));
  return words;
}

}  // namespace

std::vector<Finding> findings(const Explanation& explanation, std::size_t count) {
  std::vector<Finding> all;
  add_kernels(all, explanation);
  add_lines(all, explanation);
  add_between(all, explanation);
  add_host(all, explanation);
  const double least = kWorthwhile * explanation.step_us.value_or(0);
  std::erase_if(all, [&](const Finding& one) { return one.saving_us < least; });
  std::stable_sort(all.begin(), all.end(),
                   [](const Finding& a, const Finding& b) { return a.saving_us > b.saving_us; });
  all.resize(std::min(count, all.size()));
  return all;
}

std::string host_sentence(const Explanation& explanation) {
  const auto host = explanation.host_us();
  if (!host) return {};
  const double step = *explanation.step_us;
  return "The GPU is busy for " + ms(explanation.profiled->step_us) + " of the step's " + ms(step) +
         " and idle for " + ms(*host) + ", " + significant(100 * *host / step) +
         " % of the step, in which it waits for the host";
}

bool is_disturbed(const Explanation& explanation) { return !taken_times(explanation).empty(); }

std::vector<std::string> warnings(const Explanation& explanation) {
  std::vector<std::string> all;
  if (const std::string taken = taken_times(explanation); !taken.empty()) {
    all.push_back("Other processes or the hypervisor took CPU time, on average " + taken +
                  ". Findings leave out what that time may explain");
  }
  if (explanation.contradicts()) {
    all.push_back("The timed step (" + ms(*explanation.step_us) + ") and the " +
                  (explanation.on_gpu() ? "GPU's time in the profiled step (" : "profiled step (") +
                  ms(explanation.profiled->step_us) +
                  ") contradict each other: no finding uses the profiled step");
  }
  for (const auto& line : explanation.lines) {
    if (!line.contradicts()) continue;
    all.push_back(line_name(line) + ": hot (" + ms(*line.hot()) + ") and in step (" +
                  ms(*line.in_step_us) + ") contradict each other: no finding uses this line");
  }
  return all;
}

}  // namespace fathom::benchmarks
