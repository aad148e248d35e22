#include "benchmarks/tasks/step_choice.h"

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "fixtures/files/file.h"
#include "ops/core/field_reader.h"

namespace fathom::benchmarks {
namespace {

using Json = nlohmann::ordered_json;

Json json(const ops::ChosenKernel& one) {
  Json made{{"op", one.op}, {"call", one.call}, {"kernel", one.kernel}, {"calls", one.calls}};
  made["us"] = Json::object();
  for (const auto& [backend, us] : one.us) made["us"][backend] = us;
  return made;
}

ops::ChosenKernel kernel(const nlohmann::json& row, const std::string& place) {
  ops::FieldReader fields(row, place);
  ops::ChosenKernel one{.op = fields.text("op"),
                        .call = fields.text("call"),
                        .kernel = fields.text("kernel"),
                        .us = fields.numbers("us")};
  fields.count("calls", one.calls);
  return one;
}

/// The place of the elements of a list.
std::string place_in(const std::string& list, std::size_t i) {
  return list + '[' + std::to_string(i) + ']';
}

}  // namespace

std::string choices_json(const StepChoices& choices) {
  Json all{{"rows", Json::array()}};
  for (const auto& [name, choice] : choices) {
    Json row{{"name", name},
             {"layout", models::name(choice.layout)},
             {"cuda_graph", choice.cuda_graph},
             {"choice_seconds", choice.seconds},
             {"kernels", Json::array()}};
    for (const auto& one : choice.kernels) row["kernels"].push_back(json(one));
    all["rows"].push_back(std::move(row));
  }
  return all.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + '\n';
}

StepChoices read_choices(const std::string& path) {
  if (const auto why = fixtures::read_error(path); !why.empty())
    throw std::runtime_error(path + ": cannot be read (" + why + ")");
  const auto document = nlohmann::json::parse(fixtures::text_of_file(path), nullptr,
                                              /*allow_exceptions=*/false);
  if (document.is_discarded())
    throw std::runtime_error(path + ": not JSON, expected a <out>.kernels.json of this program");
  StepChoices all;
  const auto& rows = ops::FieldReader(document, path).list("rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string place = place_in(path + ": rows", i);
    ops::FieldReader row(rows[i], place);
    const std::string name = row.text("name");
    if (all.contains(name)) row.fail("\"name\" is that of an earlier row, expected each once");
    StepChoice& choice = all[name];
    choice.layout = static_cast<models::Layout>(row.choice("layout", models::kLayoutNames));
    row.flag("cuda_graph", choice.cuda_graph);
    row.number("choice_seconds", choice.seconds);
    const auto& kernels = row.list("kernels");
    std::set<std::pair<std::string, std::string>> calls;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const std::string kernel_place = place_in(place + ".kernels", k);
      ops::ChosenKernel one = kernel(kernels[k], kernel_place);
      if (!calls.emplace(one.op, one.call).second)
        throw std::runtime_error(kernel_place + ": an earlier one is of the same call");
      choice.kernels.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace fathom::benchmarks
