#include "benchmarks/output/files/json_file.h"

#include <system_error>

#include "benchmarks/options/files.h"
#include "benchmarks/output/files/json.h"

namespace fathom::benchmarks {

JsonFile::JsonFile(const std::string& path) : path_(path) {
  open_output("--benchmark_out=" + path, path, [&] {
    if (fixtures::is_plain_file(path)) {
      fixtures::expect_replaceable(path);
    } else {
      pipe_.emplace(path);
    }
  });
  writer_.SetOutputStream(&stream_);
  writer_.SetErrorStream(&stream_);
}

JsonFile::~JsonFile() {
  if (text_.empty()) return;
  try {
    end();
  } catch (const std::system_error&) {  // its reader has ended, too
    return;
  }
}

void JsonFile::begin(const benchmark::BenchmarkReporter::Context& context,
                     const std::string& rows) {
  writer_.ReportContext(context);
  text_ = written();
  writer_.Finalize();
  closing_ = written();
  if (!rows.empty()) text_ += rows + ",\n";  // nothing is written before the next row
}

void JsonFile::add(const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
  if (runs.empty()) return;
  writer_.ReportRuns(runs);
  text_ += written();
  if (!pipe_) fixtures::replace_file(path_, text_ + closing_);
}

void JsonFile::end() {
  if (pipe_) pipe_->write(text_ + closing_);
  pipe_.reset();
}

std::string JsonFile::written() {
  const std::string text = stream_.str();
  stream_.str({});
  return strict_json(text);
}

}  // namespace fathom::benchmarks
