#include "benchmarks/output/files/output_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "benchmarks/error.h"
#include "benchmarks/options/files.h"
#include "benchmarks/output/files/json.h"

namespace fathom::benchmarks {
namespace {

constexpr const char* kErrors = ".errors.jsonl";
constexpr const char* kExplanation = ".explain.json";

/// Throws UsageError where the system takes the name of `out`, but not that of a file beside it.
void expect_names_beside(const std::string& out) {
  for (const std::string& one : {out + kErrors, kernels_path(out), out + kExplanation}) {
    struct stat ignored {};
    if (lstat(one.c_str(), &ignored) == 0 || errno != ENAMETOOLONG) continue;
    std::string why = "--benchmark_out=";
    why.append(out).append(": cannot be written (File name too long: ").append(one);
    throw UsageError(why + " stands beside it)");
  }
}

/// What is printed to stdout goes to stderr from now on, so that stdout is one document.
void leave_stdout() {
  std::cout.flush();
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

}  // namespace

OutputFiles::OutputFiles(const Options& options, EarlierRun earlier)
    : warn_(options.conditions.data.warn),
      resumes_(options.resume),
      has_files_beside_(!options.out.empty() && fixtures::has_files_beside(options.out)),
      earlier_(std::move(earlier)),
      out_(options.out),
      samples_path_(options.recording.samples) {
  const bool takes_stdout = fixtures::is_stdout(out_) || fixtures::is_stdout(samples_path_);
  if (!out_.empty()) {
    expect_names_beside(out_);
    json_.emplace(out_);
    if (!has_files_beside_ && fixtures::is_plain_file(out_))
      warn_(out_ +
            ": its folder takes no other files, so reasons of failed rows are on stderr only");
    if (resumes_) choices_ = finished_choices(kernels_path(out_), earlier_);
  }
  if (!samples_path_.empty()) {
    if (resumes_) keep_finished_samples(samples_path_, earlier_);
    open_output("--fathom_samples=" + samples_path_, samples_path_,
                [&] { samples_.emplace(samples_path_); });
  }
  if (takes_stdout) leave_stdout();
}

void OutputFiles::begin(const Context& context) {
  if (json_) json_->begin(context, earlier_.rows);
}

void OutputFiles::add(const RowResult& result) {
  if (!std::exchange(begun_, true)) remove_earlier();
  if (result.failure && has_files_beside_) write_failure(*result.failure);
  if (samples_) samples_->write(result.samples);
  if (!json_) return;
  if (result.choice && has_files_beside_) {
    choices_[result.row->name] = *result.choice;
    fixtures::replace_file(kernels_path(out_), choices_json(choices_));
  }
  json_->add(result.runs);
  measured_ = measured_ || !result.runs.empty();
}

void OutputFiles::end() {
  if (json_) json_->end();
  if (json_ && !measured_ && earlier_.rows.empty() && fixtures::is_plain_file(out_) &&
      std::filesystem::exists(out_))
    warn_("no row was measured; " + out_ + " is of an earlier run");
}

void OutputFiles::remove_earlier() {
  namespace fs = std::filesystem;
  std::error_code none_there;
  if (samples_ && !resumes_) samples_->clear();
  if (!has_files_beside_) return;
  fs::remove(errors_path(), none_there);
  fs::remove(out_ + kExplanation, none_there);
  if (resumes_) return;
  fs::remove(kernels_path(out_), none_there);
  if (samples_path_.empty()) fs::remove(out_ + ".samples.jsonl", none_there);
}

std::string OutputFiles::errors_path() const { return out_ + kErrors; }

void OutputFiles::write_failure(const RowResult::Run& run) {
  fixtures::WrittenFile(errors_path())
      .write(failure_line(run.benchmark_name(), run.repetition_index, failure(run)));
}

}  // namespace fathom::benchmarks
