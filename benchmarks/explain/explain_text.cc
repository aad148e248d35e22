#include "benchmarks/explain/explain_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "benchmarks/explain/explain_findings.h"

namespace fathom::benchmarks {
namespace {

using Cells = std::vector<std::string>;

std::string fixed(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

/// Decimals with which `largest` has `digits` significant digits.
int decimals_for(double largest, int digits) {
  if (!(largest > 0)) return 1;
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(largest))), 0, 6);
}

std::string joined(const std::vector<ExplainedOp>& ops, auto part) {
  Cells parts;
  for (const auto& op : ops) {
    const std::string one(part(op));
    if (std::find(parts.begin(), parts.end(), one) == parts.end()) parts.push_back(one);
  }
  std::string text;
  for (const auto& one : parts) text += (text.empty() ? "" : "+") + one;
  return text;
}

/// A line for each row. The first column is aligned left, the others right.
std::string aligned(const std::vector<Cells>& table) {
  std::vector<std::size_t> widths;
  for (const auto& row : table) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : table) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

class Text {
 public:
  explicit Text(const Explanation& explanation)
      : explanation_(explanation),
        decimals_(std::max(1, decimals_for(shown_step(explanation) / 1e3, 4))) {}

  std::string all() const {
    return title() + '\n' + warning_lines() + table() + '\n' + sums() + without_rows() + '\n' +
           what_would_save() + others() + operators();
  }

 private:
  /// The step, in microseconds.
  static double shown_step(const Explanation& explanation) {
    if (explanation.step_us) return *explanation.step_us;
    return explanation.profiled ? explanation.profiled->step_us : explanation.hot().value_or(0);
  }

  std::string ms(std::optional<double> us) const { return us ? fixed(*us / 1e3, decimals_) : "-"; }

  std::string of_step(std::optional<double> us) const {
    return us && explanation_.step_us ? fixed(100 * *us / *explanation_.step_us, 1) : "-";
  }

  std::string title() const {
    const Setting& setting = explanation_.setting;
    return "Where the time of " + setting.step.workload + '/' +
           std::string(name(setting.step.mode)) + " goes: " + std::string(name(setting.device)) +
           ", " + std::to_string(setting.threads) +
           (setting.threads == 1 ? " thread, " : " threads, ") +
           std::string(name(setting.precision)) +
           "\nMilliseconds of all calls in a step. in step: " +
           (explanation_.on_gpu() ? "of the GPU, " : "") +
           "in profiled steps; hot, cold: run "
           "separately, with data\nin the caches or in memory; best other: the fastest backend "
           "that the step does not run, hot;\ntax: percent that in step is above the fastest "
           "backend; -: not known.\n";
  }

  std::string warning_lines() const {
    std::string text;
    for (const auto& warning : warnings(explanation_)) text += "Warning: " + warning + ".\n";
    if (const auto host = host_sentence(explanation_); !host.empty()) text += host + ".\n";
    return text.empty() ? text : text + '\n';
  }

  std::string table() const {
    std::vector<Cells> table{
        {"op", "count", "in step", "hot", "cold", "best other", "% of peak", "tax"}};
    for (const auto& line : explanation_.lines) {
      int64_t count = 0;
      for (const auto& op : line.ops) count = std::max(count, op.count);
      const auto other = line.other_us();
      const auto peak = line.peak();
      const auto tax = line.tax();
      table.push_back({line_name(line), std::to_string(count), ms(line.in_step_us), ms(line.hot()),
                       ms(line.cold()),
                       other ? joined(line.ops, [](const ExplainedOp& op) { return *op.other(); }) +
                                   ' ' + ms(other)
                             : "-",
                       peak ? fixed(peak->percent, 1) + ' ' + std::string(peak->of) : "-",
                       tax ? fixed(*tax, 0) : "-"});
    }
    return aligned(table);
  }

  std::string sums() const {
    std::vector<Cells> table{{"sums", "ms", "% of step", "step - it"}};
    const auto add = [&](const std::string& what, std::optional<double> us, bool residual) {
      const auto& step = explanation_.step_us;
      table.push_back({what, ms(us), of_step(us),
                       residual ? ms(us && step ? std::optional(*step - *us) : std::nullopt) : ""});
    };
    const auto& profiled = explanation_.profiled;
    const auto of_profiled = [&](auto part) {
      return profiled ? std::optional(part(*profiled)) : std::nullopt;
    };
    add("step (timed median)", explanation_.step_us, false);
    add("ops in step", explanation_.in_step(), true);
    add("ops separately, hot", explanation_.hot(), true);
    add("ops separately, cold (hot where not known)", explanation_.cold(), true);
    add("fastest backends, hot", explanation_.best(), true);
    add("fastest backends, cold (hot where not known)", explanation_.best_cold(), true);
    add("ops without rows", of_profiled([](const auto& w) { return w.without_rows_us(); }), false);
    const bool gpu = explanation_.on_gpu();
    add(gpu ? "launched by no op" : "between ops",
        of_profiled([](const auto& w) { return w.between_us(); }), false);
    add(gpu ? "GPU busy in the profiled step" : "profiled step",
        of_profiled([](const auto& w) { return w.step_us; }), gpu);
    return aligned(table);
  }

  /// Those with at least 1 % of the profiled step.
  std::string without_rows() const {
    if (!explanation_.profiled) return "";
    std::string text;
    for (const auto& one : explanation_.profiled->unclaimed) {
      const double percent = 100 * one.us / explanation_.profiled->step_us;
      if (one.op_class == ops::OpClass::kFramework || percent < 1) continue;
      text += (text.empty() ? "Without rows, of the profiled step: " : ", ") + one.type + ' ' +
              fixed(percent, 1) + " %";
    }
    return text.empty() ? text : text + ".\n";
  }

  std::string what_would_save() const {
    const auto found = findings(explanation_);
    std::string text = "What would save most:\n";
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Finding& finding = found[i];
      text += "  " + std::to_string(i + 1) + ". " + (finding.at_most ? "up to " : "") +
              ms(finding.saving_us) + " ms";
      if (explanation_.step_us) text += " (" + of_step(finding.saving_us) + " % of the step)";
      text += ": " + finding.words + ".\n";
    }
    if (found.size() < 3) {
      text +=
          found.empty() ? "  These numbers show no saving" : "  The numbers show no further saving";
      text +=
          is_disturbed(explanation_) ? " that holds without the time that others took.\n" : ".\n";
    }
    return text;
  }

  std::string others() const {
    if (explanation_.others.empty()) return "";
    std::vector<Cells> table{
        {"the step on other kernels", "ms", "% of step", "taken", "fastest hot", "fastest cold"}};
    std::string choices;
    for (const auto& other : explanation_.others) {
      const auto share = [&](std::optional<double> us) {
        return us ? fixed(100 * *us / other.time.us, 1) : "-";
      };
      table.push_back({other.backend, ms(other.time.us), of_step(other.time.us),
                       ms(other.time.taken_us), share(explanation_.best()),
                       share(explanation_.best_cold())});
      if (other.choice) choices += '\n' + choice(other.backend, *other.choice);
    }
    return '\n' + aligned(table) +
           "taken: milliseconds that others took, summed over the CPUs; fastest hot, cold: the "
           "sums above, in\npercent of the step on these kernels.\n" +
           choices;
  }

  /// Those with at least 1 % of the time of all.
  std::string operators() const {
    constexpr double kShown = 0.01;
    if (explanation_.operators.empty()) return "";
    double all = 0;
    for (const auto& one : explanation_.operators) all += one.us;
    std::vector<Cells> table{{"operators of LibTorch", "calls", "ms", "% of these"}};
    int others = 0;
    double others_us = 0;
    double others_calls = 0;
    for (const auto& [name, calls, us] : explanation_.operators) {
      if (us >= kShown * all) {
        table.push_back({name, significant(calls), ms(us), fixed(100 * us / all, 1)});
        continue;
      }
      ++others;
      others_us += us;
      others_calls += calls;
    }
    if (others > 0) {
      table.push_back({std::to_string(others) + " others", significant(others_calls), ms(others_us),
                       fixed(100 * others_us / all, 1)});
    }
    return '\n' + aligned(table) +
           "calls, ms: of a profiled step, without the operators that each one calls. A library of "
           "--fathom_kernels\nreplaces an operator by its name.\n";
  }

  /// The calls with the largest savings.
  std::string choice(const std::string& backend, const StepChoice& choice) const {
    constexpr std::size_t kShown = 10;
    std::vector<ops::ChosenKernel> kernels = choice.kernels;
    const auto replaced = std::count_if(kernels.begin(), kernels.end(),
                                        [](const auto& one) { return one.kernel != "torch"; });
    std::erase_if(kernels, [](const auto& one) { return OtherStep::saving_us(one) <= 0; });
    std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
      return OtherStep::saving_us(a) > OtherStep::saving_us(b);
    });
    const std::size_t shown = std::min(kShown, kernels.size());
    std::string text = backend + ": " + std::string(models::name(choice.layout)) + "; of " +
                       std::to_string(choice.kernels.size()) + " calls, " +
                       std::to_string(replaced) + " run another kernel than LibTorch's";
    if (shown == 0) return text + ".\n";
    std::vector<Cells> table{{"call", "kernel", "ms", "torch ms", "saved ms a step"}};
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& one = kernels[i];
      table.push_back({one.op + ' ' + one.call, one.kernel, ms(one.us.at(one.kernel)),
                       ms(one.us.at("torch")), ms(OtherStep::saving_us(one))});
    }
    return text +
           (std::cmp_less(shown, replaced) ? ". The " + std::to_string(shown) + " that save most:\n"
                                           : ":\n") +
           aligned(table);
  }

  const Explanation& explanation_;
  int decimals_;
};

}  // namespace

std::string significant(double value) { return fixed(value, decimals_for(std::abs(value), 3)); }

std::string line_type(const ExplainedLine& line) {
  return joined(line.ops, [](const ExplainedOp& op) { return op.type; });
}

std::string line_passes(const ExplainedLine& line) {
  return joined(line.ops, [](const ExplainedOp& op) { return ops::name(op.pass); });
}

std::string line_name(const ExplainedLine& line) {
  return line_type(line) + '/' + joined(line.ops, [](const ExplainedOp& op) { return op.layer; }) +
         '/' + line_passes(line);
}

std::string explanation_text(const Explanation& explanation) { return Text(explanation).all(); }

}  // namespace fathom::benchmarks
