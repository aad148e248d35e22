#include "benchmarks/output/output_files.h"

#include <filesystem>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/output/json.h"

namespace fathom::benchmarks {

OutputFiles::OutputFiles(const Options& options, EarlierRun earlier)
    : warn_(options.data.warn),
      earlier_(std::move(earlier)),
      out_(options.out),
      samples_path_(options.samples) {
  if (!out_.empty()) {
    json_.emplace(out_);
    std::error_code none_there;  // of an earlier run
    std::filesystem::remove(errors_path(), none_there);
    std::filesystem::remove(out_ + ".explain.json", none_there);
    if (options.resume) {
      choices_ = finished_choices(kernels_path(out_), earlier_);
    } else {
      std::filesystem::remove(kernels_path(out_), none_there);
      if (samples_path_.empty()) std::filesystem::remove(out_ + ".samples.jsonl", none_there);
    }
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
    if (result.failure) write_failure(*result.failure);
  }
  if (!result.samples.empty()) {
    samples_ << result.samples;
    if (!samples_.flush()) throw std::runtime_error(samples_path_ + ": cannot be written");
  }
  if (!json_) return;
  if (result.choice) {
    choices_[result.row->name] = *result.choice;
    replace_file(kernels_path(out_), choices_json(choices_));
  }
  json_->add(result.runs);
  measured_ = measured_ || !result.runs.empty();
}

void OutputFiles::end() {
  if (json_ && !measured_ && earlier_.rows.empty() && std::filesystem::is_regular_file(out_))
    warn_("no row was measured; " + out_ + " is of an earlier run");
}

void OutputFiles::write_failure(const RowResult::Run& run) {
  std::ofstream file(errors_path(), std::ios::app);
  file << failure_line(run.benchmark_name(), run.repetition_index, failure(run));
  if (!file.flush()) throw std::runtime_error(errors_path() + ": cannot be written");
}

}  // namespace fathom::benchmarks
