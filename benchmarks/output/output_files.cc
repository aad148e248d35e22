#include "benchmarks/output/output_files.h"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "benchmarks/error.h"
#include "benchmarks/output/json.h"

namespace fathom::benchmarks {

OutputFiles::OutputFiles(const Options& options, EarlierRun earlier)
    : warn_(options.data.warn),
      resumes_(options.resume),
      has_files_beside_(!options.out.empty() && is_plain_file(options.out)),
      earlier_(std::move(earlier)),
      out_(options.out),
      samples_path_(options.samples) {
  if (!out_.empty()) {
    json_.emplace(out_);
    if (resumes_) choices_ = finished_choices(kernels_path(out_), earlier_);
  }
  if (!samples_path_.empty()) {
    if (resumes_) keep_finished_samples(samples_path_, earlier_);
    samples_.open(samples_path_, std::ios::app);
    if (!samples_) throw UsageError("--fathom_samples=" + samples_path_ + ": cannot be written");
  }
}

void OutputFiles::begin(const Context& context) {
  if (json_) json_->begin(context, earlier_.rows);
}

void OutputFiles::add(const RowResult& result) {
  if (!std::exchange(begun_, true)) remove_earlier();
  if (result.failure && has_files_beside_) write_failure(*result.failure);
  if (!result.samples.empty()) {
    samples_ << result.samples;
    if (!samples_.flush()) throw std::runtime_error(samples_path_ + ": cannot be written");
  }
  if (!json_) return;
  if (result.choice && has_files_beside_) {
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

void OutputFiles::remove_earlier() {
  namespace fs = std::filesystem;
  std::error_code none_there;
  if (!samples_path_.empty() && !resumes_) fs::resize_file(samples_path_, 0, none_there);
  if (!has_files_beside_) return;
  fs::remove(errors_path(), none_there);
  fs::remove(out_ + ".explain.json", none_there);
  if (resumes_) return;
  fs::remove(kernels_path(out_), none_there);
  if (samples_path_.empty()) fs::remove(out_ + ".samples.jsonl", none_there);
}

void OutputFiles::write_failure(const RowResult::Run& run) {
  std::ofstream file(errors_path(), std::ios::app);
  file << failure_line(run.benchmark_name(), run.repetition_index, failure(run));
  if (!file.flush()) throw std::runtime_error(errors_path() + ": cannot be written");
}

}  // namespace fathom::benchmarks
