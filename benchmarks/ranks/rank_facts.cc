#include "benchmarks/ranks/rank_facts.h"

#include <torch/version.h>

#include <nlohmann/json.hpp>

#include "benchmarks/google_benchmark.h"
#include "fixtures/files/file.h"
#include "fixtures/files/text.h"
#include "fixtures/machine/cpu_model.h"
#include "fixtures/machine/cpus.h"
#include "fixtures/random.h"
#include "git_commit.h"

namespace fathom::benchmarks {
namespace {

/// The arguments, without the path of the program.
std::string arguments(const Options& options) {
  const auto space = options.command_line.find(' ');
  return space == std::string::npos ? "" : options.command_line.substr(space + 1);
}

std::string hash(const std::vector<Row>& rows) {
  std::string names;
  for (const auto& row : rows) names += row.name + '\n';
  return std::to_string(fixtures::seed_for(0, names));
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, host, machine, cpu, cpus, build, options, rows)

RankFacts own_facts(const Options& options, const std::vector<Row>& rows) {
  const RankFacts facts{
      .host = benchmark::SystemInfo::Get().name,
      .machine = fixtures::first_line(fixtures::text_of_file("/proc/sys/kernel/random/boot_id")),
      .cpu = fixtures::cpu_model().name,
      .cpus = fixtures::usable_cpus(),
      .build = std::string(FATHOM_GIT_COMMIT) + " with LibTorch " + TORCH_VERSION,
      .options = arguments(options),
      .rows = hash(rows)};
  return read_facts(text(facts));  // so that bytes that are not UTF-8 are the same on all ranks
}

std::string text(const RankFacts& facts) {
  return nlohmann::json(facts).dump(-1, ' ', /*ensure_ascii=*/false,
                                    nlohmann::json::error_handler_t::replace);
}

RankFacts read_facts(const std::string& text) {
  return nlohmann::json::parse(text).get<RankFacts>();
}

std::string difference(const RankFacts& rank0, const RankFacts& other) {
  const auto differs = [](const char* what, const std::string& found, const std::string& expected) {
    return std::string(what) + ' ' + found + ", expected that of rank 0, " + expected;
  };
  if (rank0.build != other.build) return differs("runs the build", other.build, rank0.build);
  if (rank0.options != other.options) {
    return differs("got the arguments", other.options, rank0.options);
  }
  if (rank0.rows != other.rows) {
    return "has other rows than rank 0, expected the same devices and as many cores";
  }
  return {};
}

}  // namespace fathom::benchmarks
