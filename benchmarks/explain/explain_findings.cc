#include "benchmarks/explain/explain_findings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "benchmarks/explain/explain_text.h"
#include "ops/types/table.h"

namespace fathom::benchmarks {
namespace {

// A kernel is faster where it is so by more than noise.
constexpr double kFaster = 1.05;
// A time is well above another from here on, and near it within kNear.
constexpr double kWellAbove = 1.25;
constexpr double kNear = 0.25;

/// By backend.
constexpr std::array<std::string_view, 5> kWhose{"LibTorch's", "oneDNN's", "cuBLAS's", "cuDNN's",
                                                 "our own"};
static_assert(kWhose.size() == ops::kBackendNames.size());

std::string owner(ops::Backend backend) {
  return std::string(kWhose[static_cast<std::size_t>(backend)]);
}

std::string ms(double us) { return significant(us / 1e3) + " ms"; }

std::string shapes(int count) {
  return count == 1 ? "one shape" : std::to_string(count) + " shapes";
}

/// Ops of one type and pass that another backend runs faster.
struct Slower {
  std::string name;
  ops::Backend in_steps;
  std::set<ops::Backend> others;
  int shapes = 0;
  double us = 0;
  double other_us = 0;
  double saving_us = 0;  ///< what the step's own time leaves of the difference

  Finding finding() const {
    std::string whose = owner(*others.begin());
    if (others.size() > 1) whose = "the fastest";
    std::string words = owner(in_steps) + ' ' + name + " takes " + significant(us / other_us) +
                        " times " + whose + ": " + ms(us) + " against " + ms(other_us) +
                        ", alone over " + fathom::benchmarks::shapes(shapes);
    if (saving_us < us - other_us) words += "; in the step it takes less, which bounds the saving";
    words[0] = static_cast<char>(std::toupper(words[0]));
    return {.kind = "kernel", .saving_us = saving_us, .at_most = false, .words = words};
  }
};

void add_kernels(std::vector<Finding>& all, const Explanation& explanation) {
  std::map<std::string, Slower> groups;
  for (const auto& line : explanation.lines) {
    const auto best = line.best();
    const double room = line.in_step_us && best ? *line.in_step_us - *best
                                                : std::numeric_limits<double>::infinity();
    for (const auto& op : line.ops) {
      const auto hot = op.hot();
      const auto other = op.other_us();
      if (!hot || !other || *hot < kFaster * *other || room <= 0) continue;
      const std::string name = op.type + ' ' + std::string(ops::name(op.pass));
      auto& group = groups[name + ' ' + std::string(ops::name(op.in_steps))];
      group.name = name;
      group.in_steps = op.in_steps;
      group.others.insert(*op.other());
      ++group.shapes;
      group.us += *hot;
      group.other_us += *other;
      group.saving_us += std::min(*hot - *other, room);
    }
  }
  for (const auto& [key, group] : groups) all.push_back(group.finding());
}

/// Lines of one type and its passes whose time in the step is not the one alone.
struct Longer {
  int shapes = 0;
  double in_step = 0;
  double hot = 0;
  std::optional<double> cold = 0;  ///< absent where one of them is
  bool elementwise = false;

  void add(const ExplainedLine& line) {
    ++shapes;
    in_step += *line.in_step_us;
    hot += *line.hot();
    const auto more = line.cold();
    cold = cold && more ? std::optional(*cold + *more) : std::nullopt;
    const auto* type = ops::op_type(line.ops[0].type);
    elementwise = type != nullptr && type->op_class == ops::OpClass::kElementwise;
  }

  std::string times() const {
    return ms(in_step) + " in the step, " + ms(hot) + " alone with its data in the caches" +
           (cold ? " and " + ms(*cold) + " with it in memory" : "");
  }
};

/// "conv2d dgrad+wgrad".
std::string name_of(const ExplainedLine& line) { return line_type(line) + ' ' + line_passes(line); }

void add_lines(std::vector<Finding>& all, const Explanation& explanation) {
  std::map<std::string, Longer> waiting;
  std::map<std::string, Longer> unexplained;
  for (const auto& line : explanation.lines) {
    const auto hot = line.hot();
    const auto cold = line.cold();
    if (!line.in_step_us || !hot) continue;
    const double in_step = *line.in_step_us;
    if (in_step > kWellAbove * std::max(*hot, cold.value_or(0))) {
      unexplained[name_of(line) + (cold ? "" : " ")].add(line);  // those without a cold time apart
    } else if (cold && in_step > kWellAbove * *hot && std::abs(in_step - *cold) < kNear * *cold) {
      waiting[name_of(line)].add(line);
    }
  }
  for (const auto& [name, group] : waiting) {
    all.push_back({.kind = "memory",
                   .saving_us = group.in_step - group.hot,
                   .at_most = true,
                   .words = name + " waits for memory: " + group.times() + ", over " +
                            shapes(group.shapes) + ". " +
                            (group.elementwise ? "Fusing it with what made its input would help"
                                               : "Data that stays in the caches would help")});
  }
  for (const auto& [name, group] : unexplained) {
    const std::string threads = explanation.setting.threads > 1 ? ", or the start of threads" : "";
    const std::string why =
        group.cold ? "Neither its kernel nor its data says why; it may be fresh pages, which "
                     "--fathom_malloc=tuned avoids" +
                         threads
                   : "With its data in memory it was not run alone, which may say why";
    all.push_back({.kind = "in_step",
                   .saving_us = group.in_step - std::max(group.hot, group.cold.value_or(0)),
                   .at_most = true,
                   .words = name.substr(0, name.find_last_not_of(' ') + 1) +
                            " takes longer there: " + group.times() + ", over " +
                            shapes(group.shapes) + ". " + why});
  }
}

/// Watching lengthens the step, most of all between ops: what it added does not count as a saving.
void add_between(std::vector<Finding>& all, const Explanation& explanation) {
  if (!explanation.watched || !explanation.step_us) return;
  const WatchedStep& watched = *explanation.watched;
  const double between = watched.between_us();
  const double added = std::max(0.0, watched.step_us - *explanation.step_us);
  if (between <= added) return;
  all.push_back(
      {.kind = "between_ops",
       .saving_us = between - added,
       .at_most = true,
       .words = ms(between) + " pass between ops (dispatch, autograd, allocation)" +
                (added > 0 ? ", " + ms(added) + " of which the watching may have added" : "")});
}

}  // namespace

std::vector<Finding> findings(const Explanation& explanation, std::size_t count) {
  std::vector<Finding> all;
  add_kernels(all, explanation);
  add_lines(all, explanation);
  add_between(all, explanation);
  std::stable_sort(all.begin(), all.end(),
                   [](const Finding& a, const Finding& b) { return a.saving_us > b.saving_us; });
  all.resize(std::min(count, all.size()));
  return all;
}

}  // namespace fathom::benchmarks
