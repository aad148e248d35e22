#include "benchmarks/output/output_files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/output/display.h"
#include "benchmarks/output/op_type_rows.h"

namespace fathom::benchmarks {
namespace {

/// One line; what is not UTF-8 in a library's message is replaced.
std::string line(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace

OutputFiles::OutputFiles(const Options& options, Loop& loop, EarlierRun earlier)
    : loop_(loop), earlier_(std::move(earlier)), samples_path_(options.samples) {
  if (!options.out.empty()) {
    json_.emplace(options.out);
    errors_path_ = options.out + ".errors.jsonl";
    std::error_code none_there;
    std::filesystem::remove(errors_path_, none_there);  // an earlier run's
  }
  if (!samples_path_.empty()) {
    if (options.resume) keep_finished_samples(samples_path_, earlier_);
    samples_.open(samples_path_, options.resume ? std::ios::app : std::ios::trunc);
    if (!samples_) throw UsageError("--fathom_samples=" + samples_path_ + ": cannot be written");
  }
}

bool OutputFiles::ReportContext(const Context& context) {
  if (json_) json_->begin(context, earlier_.rows);
  return true;
}

void OutputFiles::ReportRuns(const std::vector<Run>& runs) {
  for (const auto& run : runs) {
    if (failed(run) && json_) write_failure(run);
  }
  const std::vector<Run> rows = measured(runs);
  if (!samples_path_.empty()) write_samples(rows);
  if (json_) json_->add(with_op_rows(rows, loop_));
}

void OutputFiles::add_samples(const std::string& lines) {
  if (lines.empty()) return;
  samples_ << lines;
  if (!samples_.flush()) throw std::runtime_error(samples_path_ + ": cannot be written");
}

void OutputFiles::write_failure(const Run& run) {
  std::ofstream file(errors_path_, std::ios::app);
  file << line({{"name", run.benchmark_name()},
                {"repetition", run.repetition_index},
                {"reason", failure(run)}});
  if (!file.flush()) throw std::runtime_error(errors_path_ + ": cannot be written");
}

/// Google Benchmark looks for an iteration count in passes that it does not report; the last ones
/// are the repetitions.
void OutputFiles::write_samples(const std::vector<Run>& runs) {
  const auto count = static_cast<std::size_t>(std::count_if(
      runs.begin(), runs.end(), [](const Run& run) { return run.run_type == Run::RT_Iteration; }));
  if (count == 0) return;
  const auto& name = runs.front().run_name;
  const auto passes = loop_.take_samples(name.function_name);
  const std::size_t searched = passes.size() - std::min(count, passes.size());
  for (std::size_t pass = searched; pass < passes.size(); ++pass) {
    const Samples& samples = passes[pass];
    for (std::size_t sample = 0; sample < samples.us.size(); ++sample) {
      write_sample(name, pass - searched,
                   sample * static_cast<std::size_t>(samples.steps_per_sample), samples.us[sample]);
    }
  }
  const auto profiles = repetitions(loop_.profiles(name.function_name), runs.front());
  for (std::size_t repetition = 0; repetition < profiles.size(); ++repetition) {
    const auto& series = profiles[repetition].series;
    for (std::size_t step = 0; step < series.size(); ++step) {
      for (const auto& op : series[step].ops) {
        write_sample(op_row_name(name, op.type), repetition, step, op.seconds * 1e6);
      }
    }
  }
  if (!samples_.flush()) throw std::runtime_error(samples_path_ + ": cannot be written");
}

void OutputFiles::write_sample(const benchmark::BenchmarkName& name, std::size_t repetition,
                               std::size_t step, double us) {
  samples_ << line({{"name", name.str()}, {"repetition", repetition}, {"step", step}, {"us", us}});
}

}  // namespace fathom::benchmarks
