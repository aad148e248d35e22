#include "benchmarks/explain/explain_json.h"

#include <nlohmann/json.hpp>

#include "benchmarks/explain/explain_findings.h"

namespace fathom::benchmarks {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& object, const char* key, const std::optional<double>& value) {
  if (value) object[key] = *value;
}

Json json(const ExplainedOp& op) {
  Json made{{"type", op.type},   {"layer", op.layer},      {"pass", ops::name(op.pass)},
            {"count", op.count}, {"backend", op.in_steps}, {"hot_us", Json::object()}};
  for (const auto& [backend, us] : op.hot_us) made["hot_us"][backend] = us;
  put(made, "hot_taken_us", op.hot_taken_us);
  for (const auto& [backend, us] : op.cold_us) made["cold_us"][backend] = us;
  put(made, "cold_taken_us", op.cold_taken_us);
  if (op.peak) made[std::string(op.peak->of) + "_pct_peak"] = op.peak->percent;
  return made;
}

Json json(const ExplainedLine& line) {
  Json made = Json::object();
  put(made, "in_step_us", line.in_step_us);
  put(made, "step_hot_us", line.hot());
  put(made, "step_cold_us", line.cold());
  put(made, "step_best_us", line.best());
  put(made, "step_other_us", line.other_us());
  put(made, "tax_pct", line.tax());
  made["ops"] = Json::array();
  for (const auto& op : line.ops) made["ops"].push_back(json(op));
  return made;
}

Json json(const Explanation& explanation) {
  const Setting& setting = explanation.setting;
  Json made{{"step", setting.step.workload + '/' + std::string(name(setting.step.mode))},
            {"device", name(setting.device)},
            {"threads", setting.threads},
            {"precision", name(setting.precision)}};
  put(made, "step_us", explanation.step_us);
  put(made, "step_taken_us", explanation.step_taken_us);
  put(made, "in_step_us", explanation.in_step());
  put(made, "hot_us", explanation.hot());
  put(made, "cold_us", explanation.cold());
  put(made, "best_us", explanation.best());
  put(made, "best_cold_us", explanation.best_cold());
  if (const auto& profiled = explanation.profiled) {
    made["profiled_step_us"] = profiled->step_us;
    put(made, "host_us", explanation.host_us());
    put(made, "profiled_taken_us", profiled->taken_us);
    made["between_us"] = profiled->between_us();
    made["without_rows_us"] = profiled->without_rows_us();
  }
  made["lines"] = Json::array();
  for (const auto& line : explanation.lines) made["lines"].push_back(json(line));
  made["unclaimed"] = Json::array();
  if (explanation.profiled) {
    for (const auto& part : explanation.profiled->unclaimed) {
      made["unclaimed"].push_back(
          {{"type", part.type}, {"class", ops::name(part.op_class)}, {"in_step_us", part.us}});
    }
  }
  made["others"] = Json::array();
  for (const auto& other : explanation.others) {
    Json step{{"backend", other.backend}, {"step_us", other.time.us}};
    put(step, "step_taken_us", other.time.taken_us);
    if (explanation.step_us) step["pct_of_step"] = 100 * other.time.us / *explanation.step_us;
    if (!other.label.empty()) step["label"] = other.label;
    made["others"].push_back(std::move(step));
  }
  made["operators"] = Json::array();
  for (const auto& [name, calls, us] : explanation.operators)
    made["operators"].push_back({{"name", name}, {"calls", calls}, {"us", us}});
  made["measured_again"] = explanation.measured_again;
  made["warnings"] = warnings(explanation);
  made["findings"] = Json::array();
  for (const auto& finding : findings(explanation)) {
    Json found{{"kind", finding.kind},
               {"saving_us", finding.saving_us},
               {"at_most", finding.at_most},
               {"words", finding.words}};
    if (explanation.step_us) found["pct_of_step"] = 100 * finding.saving_us / *explanation.step_us;
    made["findings"].push_back(std::move(found));
  }
  return made;
}

}  // namespace

std::string explanations_json(const std::vector<Explanation>& explanations) {
  Json all{{"explanations", Json::array()}};
  for (const auto& explanation : explanations) all["explanations"].push_back(json(explanation));
  return all.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + '\n';
}

}  // namespace fathom::benchmarks
