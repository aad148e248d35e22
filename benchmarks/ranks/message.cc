#include "benchmarks/ranks/message.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "fixtures/files/text.h"
#include "fixtures/ranks/group.h"

namespace fathom::benchmarks {

using nlohmann::json;

std::string text(const Command& command) {
  return json{{"order", static_cast<int>(command.order)},
              {"number", command.number},
              {"row", command.row},
              {"cpus", command.cpus}}
      .dump();
}

Command read_command(const std::string& text) {
  const json read = json::parse(text);
  return {.order = static_cast<Order>(read.at("order").get<int>()),
          .number = read.at("number").get<int64_t>(),
          .row = read.at("row").get<std::string>(),
          .cpus = read.at("cpus").get<std::vector<int>>()};
}

std::string text(const Answer& answer) {
  constexpr std::size_t kLongest = 700;  // what json may escape fits into a message, too
  return json{{"kind", static_cast<int>(answer.kind)},
              {"value", answer.value},
              {"error", answer.error.substr(0, kLongest)}}
      .dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

Answer read_answer(const std::string& text) {
  const json read = json::parse(text);
  return {.kind = static_cast<Answer::Kind>(read.at("kind").get<int>()),
          .value = read.at("value").get<double>(),
          .error = read.at("error").get<std::string>()};
}

Answer failed_answer(const std::exception& error) {
  const std::string what = fixtures::first_line(error.what());
  if (!fixtures::is_lost_connection(what)) return {.kind = Answer::Kind::kFailed, .error = what};
  const auto place = what.find("] ");  // after gloo's file and line
  return {.kind = Answer::Kind::kCutOff,
          .error = "no connection to another rank: " +
                   (place == std::string::npos ? what : what.substr(place + 2))};
}

}  // namespace fathom::benchmarks
