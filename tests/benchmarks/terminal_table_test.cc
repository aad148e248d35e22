#include "benchmarks/output/terminal/terminal_table.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "benchmarks/output/terminal/context_summary.h"
#include "benchmarks/output/terminal/number_text.h"
#include "benchmarks/rows/presets.h"
#include "tests/benchmarks/parsed_options.h"

namespace fathom::benchmarks {
namespace {

using ReportedRun = TerminalTable::Run;

Row step(const std::string& threads, const std::string& batch) {
  return {.name = "vgg/train/device:cpu/threads:" + threads + "/batch:" + batch +
                  "/precision:fp32/backend:torch",
          .rates = {.flops = true}};
}

Row op(const std::string& layer, const std::string& backend) {
  return {.name = "op/matmul/vgg/" + layer +
                  "/forward/device:cpu/threads:1/precision:fp32/cache:hot/backend:" + backend,
          .rates = {.flops = true, .bytes = true},
          .op = RowOp{}};
}

/// A run of 4 iterations that took `seconds` each on two cores.
ReportedRun run(const Row& row, double seconds, const std::string& op_type = {}) {
  ReportedRun made;
  made.run_name.function_name = row.name + (op_type.empty() ? "" : "/op:" + op_type);
  made.run_name.time_type = "process_time/real_time";
  made.iterations = 4;
  made.real_accumulated_time = 4 * seconds;
  made.cpu_accumulated_time = 8 * seconds;
  return made;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) found.push_back(line);
  return found;
}

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> found;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

using Words = std::vector<std::string>;

TEST(NumberText, HasThreeDigitsAndAPrefix) {
  EXPECT_EQ(number_text(0), "0.00");
  EXPECT_EQ(number_text(0.0001), "<0.001");
  EXPECT_EQ(number_text(0.00123), "0.0012");
  EXPECT_EQ(number_text(0.0412), "0.0412");
  EXPECT_EQ(number_text(6.192), "6.19");
  EXPECT_EQ(number_text(61.92), "61.9");
  EXPECT_EQ(number_text(999.6), "1.00k");
  EXPECT_EQ(number_text(102'400), "102k");
  EXPECT_EQ(number_text(45.2e9), "45.2G");
  EXPECT_EQ(number_text(1.5e12), "1.50T");
}

TEST(TimeText, HasFourDigitsAndAUnit) {
  EXPECT_EQ(time_text(12e-9), "12.00 ns");
  EXPECT_EQ(time_text(123.44e-6), "123.4 us");
  EXPECT_EQ(time_text(999.96e-6), "1.000 ms");
  EXPECT_EQ(time_text(0.04512), "45.12 ms");
  EXPECT_EQ(time_text(1.2934), "1.293 s ");
  EXPECT_EQ(time_text(4321), "4321 s ");
}

TEST(TerminalTable, NamesSharedTokensOnceAndHasColumnsForTheOthers) {
  const std::vector<Row> rows{step("1", "8"), step("2", "8")};
  const TerminalTable table(rows, 120, /*color=*/false);
  const auto header = lines(table.header());
  EXPECT_EQ(header.at(0),
            "All rows: device:cpu batch:8 precision:fp32 backend:torch process_time/real_time");
  EXPECT_EQ(words(header.at(3)), (Words{"name", "threads", "time", "cores", "items/s", "FLOP/s",
                                        "FLOP/s", "iterations"}));
  ReportedRun measured = run(rows[1], 0.25);
  measured.counters["items_per_second"] = 32;
  measured.counters["flops"] = 45.2e9;
  measured.counters["flops_pct_peak"] = 77.12;
  EXPECT_EQ(words(table.lines({measured})),
            (Words{"vgg/train", "2", "250.0", "ms", "2.00", "32.0", "45.2G", "77.1", "4"}));
}

TEST(TerminalTable, SaysWhichTokensSomeRowsLack) {
  const TerminalTable table({step("1", "8"), op("fc6", "torch")}, 120, /*color=*/false);
  const auto header = lines(table.header());
  EXPECT_EQ(header.at(0),
            "All rows: device:cpu threads:1 precision:fp32 backend:torch "
            "process_time/real_time");
  EXPECT_EQ(header.at(1), "All rows that have them: batch:8 cache:hot");
}

TEST(TerminalTable, AlignsItsColumns) {
  const std::vector<Row> rows{op("fc6", "torch"), op("fc6_of_a_longer_name", "onednn")};
  const TerminalTable table(rows, 120, /*color=*/false);
  const auto text = lines(table.lines({run(rows[0], 1), run(rows[1], 2e-5)}));
  ASSERT_EQ(text.size(), 2U);
  EXPECT_EQ(text[0].find("torch") + 5, text[1].find("onednn") + 6);
  EXPECT_EQ(text[0].size(), text[1].size());
  EXPECT_EQ(text[0].size(), lines(table.header()).at(1).size());
}

TEST(TerminalTable, LeavesCellsWithoutAValueEmpty) {
  const std::vector<Row> rows{op("fc6", "torch")};
  const TerminalTable table(rows, 120, /*color=*/false);
  EXPECT_EQ(words(table.lines({run(rows[0], 1)})),
            (Words{"op/matmul/vgg/fc6/forward", "1.000", "s", "2.00", "4"}));
}

TEST(TerminalTable, PutsOpTypesBelowTheirStep) {
  std::vector<Row> rows{step("1", "8")};
  rows[0].profiling = Profiling::kOpTypes;
  const TerminalTable table(rows, 120, /*color=*/false);
  ReportedRun matmul = run(rows[0], 0.1, "matmul");
  matmul.counters["pct_of_step"] = 40;
  matmul.counters["calls_per_step"] = 3;
  const auto text = lines(table.lines({run(rows[0], 0.25), matmul}));
  EXPECT_TRUE(text.at(0).starts_with("vgg/train "));
  EXPECT_TRUE(text.at(1).starts_with("  op:matmul "));
  EXPECT_EQ(words(text.at(1)), (Words{"op:matmul", "100.0", "ms", "2.00", "40.0", "3.00", "4"}));
}

TEST(TerminalTable, NamesAggregates) {
  const std::vector<Row> rows{step("1", "8")};
  const TerminalTable table(rows, 120, /*color=*/false);
  ReportedRun variation = run(rows[0], 0);
  variation.run_type = ReportedRun::RT_Aggregate;
  variation.aggregate_name = "cv";
  variation.aggregate_unit = benchmark::kPercentage;
  variation.real_accumulated_time = 0.0123;
  variation.counters["flops"] = 0.02;
  EXPECT_EQ(words(table.lines({variation})), (Words{"vgg/train", "cv", "1.23%", "2.00%", "4"}));
}

TEST(TerminalTable, GivesALongNameALineOfItsOwn) {
  const std::vector<Row> rows{op(std::string(90, 'x'), "torch")};
  const TerminalTable table(rows, 120, /*color=*/false);
  const auto text = lines(table.lines({run(rows[0], 1)}));
  ASSERT_EQ(text.size(), 2U);
  EXPECT_EQ(text[0], "op/matmul/vgg/" + std::string(90, 'x') + "/forward");
  EXPECT_LE(text[1].size(), 120U);
}

TEST(TerminalTable, CutsANameThatIsLongerThanTheTerminalAtItsSlashes) {
  const std::vector<Row> rows{op(std::string(60, 'x'), "torch")};
  const TerminalTable table(rows, 80, /*color=*/false);
  const auto text = lines(table.lines({run(rows[0], 1)}));
  ASSERT_EQ(text.size(), 3U);
  EXPECT_EQ(text[0], "op/matmul/vgg/" + std::string(60, 'x') + "/");
  EXPECT_EQ(text[1], "  forward");
}

TEST(TerminalTable, MarksDisturbedRows) {
  const std::vector<Row> rows{step("2", "8")};
  const TerminalTable table(rows, 80, /*color=*/false);
  ReportedRun quiet = run(rows[0], 0.25);
  ReportedRun disturbed = quiet;
  quiet.counters["waiting_us"] = 0.09 * 0.25e6;
  disturbed.counters["waiting_us"] = 0.11 * 0.25e6;  // of two threads
  const auto text = lines(table.lines({quiet, disturbed}));
  EXPECT_EQ(text.at(0).find('*'), std::string::npos);
  EXPECT_NE(text.at(1).find("250.0 ms* "), std::string::npos) << text[1];
  for (const auto& line : lines(TerminalTable::kMarkMeans)) EXPECT_LE(line.size(), 80U);
}

TEST(TerminalTable, KeepsTokensInNamesWhereTheirColumnsDoNotFit) {
  std::vector<Row> rows;
  for (const std::string device : {"cpu", "cuda"}) {
    for (const std::string n : {"1", "2"}) {
      std::string name = "vgg/train/device:" + device;
      for (const char* key : {"/threads:", "/ranks:", "/batch:"}) name.append(key).append(n);
      name += n == "1" ? "/precision:fp32/backend:torch" : "/precision:bf16/backend:tuned";
      rows.push_back({.name = name});
    }
  }
  const TerminalTable table(rows, 80, /*color=*/false);
  const auto text = lines(table.lines({run(rows[0], 1), run(rows[0], 1, "matmul")}));
  ASSERT_EQ(text.size(), 3U);
  EXPECT_EQ(text[0], "vgg/train/device:cpu/threads:1/ranks:1/batch:1/precision:fp32/backend:torch");
  EXPECT_TRUE(text[2].starts_with("  op:matmul "));
  for (const auto& line : text) EXPECT_LE(line.size(), 80U);
}

TEST(TerminalTable, LeavesOutColumnsThatATerminalHasNoRoomFor) {
  const std::vector<Row> rows{step("1", "8"), step("2", "16")};
  const auto titles = [&](std::size_t width) {
    return words(lines(TerminalTable(rows, width, /*color=*/false).header()).at(3));
  };
  EXPECT_EQ(titles(120).back(), "iterations");
  EXPECT_EQ(titles(80), (Words{"name", "threads", "batch", "time", "cores", "items/s", "FLOP/s"}));
}

TEST(TerminalTable, ColorsRowsOnly) {
  const std::vector<Row> rows{step("1", "8")};
  const TerminalTable table(rows, 120, /*color=*/true);
  EXPECT_EQ(table.header().find('\033'), std::string::npos);
  EXPECT_TRUE(table.lines({run(rows[0], 1)}).starts_with("\033[0;32mvgg/train\033[m "));
}

TEST(TerminalTable, FitsEveryRowOfTheProgramIntoItsColumns) {
  auto rows = make_rows(parsed({"--fathom_device=cpu", "--fathom_threads=1",
                                "--fathom_cache=hot,cold", "--fathom_precision=fp32,bf16"}));
  rows[0].profiling = Profiling::kOpTypes;
  for (const std::size_t columns : {80U, 120U}) {
    const TerminalTable table(rows, columns, /*color=*/false);
    for (const auto& line : lines(table.header())) EXPECT_LE(line.size(), columns) << line;
    for (const auto& row : rows) {
      ReportedRun measured = run(row, 0.1234);
      for (const char* counter : {"items_per_second", "flops", "flops_pct_peak", "bytes_pct_peak",
                                  "pct_of_step", "calls_per_step", "waiting_us"}) {
        measured.counters[counter] = 123456;
      }
      for (const auto& line : lines(table.lines({measured}))) EXPECT_LE(line.size(), columns);
    }
  }
}

TEST(ContextSummary, HasFiveLinesAtMost) {
  std::map<std::string, std::string> context{{"fathom_version", "0.1.0"},
                                             {"git_commit", std::string(40, 'a') + "-dirty"},
                                             {"libtorch", "2.11.0"},
                                             {"onednn", "3.2.0"},
                                             {"cpu", std::string(90, 'C')}};
  for (int threads = 1; threads <= 128; threads *= 2) {
    const std::string n = std::to_string(threads);
    context["peak_flops_cpu_threads" + n + "_fp32"] = "118.2 GFLOP/s, oneDNN GEMM, 3 tries";
    context["peak_bytes_cpu_threads" + n] = "20.1 GB/s, read";
  }
  const auto text = context_summary(context, 80);
  EXPECT_EQ(text.size(), 5U);
  for (const auto& line : text) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_EQ(text.at(0), "fathom_bench 0.1.0 at aaaaaaaaaa-dirty, LibTorch 2.11.0, oneDNN 3.2.0");
  EXPECT_TRUE(text.at(2).starts_with("peaks 1 thread: 20.1 GB/s; ")) << text.at(2);
}

}  // namespace
}  // namespace fathom::benchmarks
