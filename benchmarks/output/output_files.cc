#include "benchmarks/output/output_files.h"

#include <filesystem>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/output/json.h"

namespace fathom::benchmarks {

OutputFiles::OutputFiles(const Options& options, EarlierRun earlier)
    : earlier_(std::move(earlier)), samples_path_(options.samples) {
  if (!options.out.empty()) {
    json_.emplace(options.out);
    errors_path_ = options.out + ".errors.jsonl";
    std::error_code none_there;
    std::filesystem::remove(errors_path_, none_there);  // of an earlier run
  }
  if (!samples_path_.empty()) {
    if (options.resume) keep_finished_samples(samples_path_, earlier_);
    samples_.open(samples_path_, options.resume ? std::ios::app : std::ios::trunc);
    if (!samples_) throw UsageError("--fathom_samples=" + samples_path_ + ": cannot be written");
  }
}

void OutputFiles::begin(const Context& context) {
  if (json_) json_->begin(context, earlier_.rows);
}

void OutputFiles::add(const RowResult& result) {
  if (json_) {
    for (const auto& run : result.failures) write_failure(run);
  }
  if (!result.samples.empty()) {
    samples_ << result.samples;
    if (!samples_.flush()) throw std::runtime_error(samples_path_ + ": cannot be written");
  }
  if (json_) json_->add(result.runs);
}

void OutputFiles::write_failure(const RowResult::Run& run) {
  std::ofstream file(errors_path_, std::ios::app);
  file << failure_line(run.benchmark_name(), run.repetition_index, failure(run));
  if (!file.flush()) throw std::runtime_error(errors_path_ + ": cannot be written");
}

}  // namespace fathom::benchmarks
