#include "benchmarks/options/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/nearest.h"
#include "benchmarks/rows/presets.h"
#include "benchmarks/rows/rows.h"
#include "benchmarks/tasks/op_task.h"
#include "fixtures/machine/device.h"
#include "ops/backends/vendor.h"
#include "ops/types/shapes.h"
#include "tests/benchmarks/parsed_options.h"

namespace fathom::benchmarks {
namespace {

TEST(Options, DefaultToThisMachine) {
  const Options options = parsed({});
  EXPECT_EQ(options.axes.devices.front(), fixtures::Device::kCpu);
  EXPECT_EQ(options.axes.threads.front(), 1);
  EXPECT_EQ(options.axes.threads.back(), fixtures::usable_cores());
  EXPECT_EQ(options.axes.precisions, std::vector{fixtures::Precision::kFp32});
}

TEST(Options, TakeLists) {
  const Options options =
      parsed({"--fathom_batch=4,16", "--fathom_precision=bf16,fp32", "--fathom_seed=9"});
  EXPECT_EQ(options.axes.batches, (std::vector<int64_t>{4, 16}));
  EXPECT_EQ(options.axes.precisions,
            (std::vector{fixtures::Precision::kBf16, fixtures::Precision::kFp32}));
  EXPECT_EQ(options.conditions.seed, 9U);
}

TEST(Options, ChooseTheLayout) {
  EXPECT_EQ(parsed({}).conditions.layout, models::Layout::kContiguous);
  EXPECT_EQ(parsed({"--fathom_layout=contiguous"}).conditions.layout, models::Layout::kContiguous);
  EXPECT_EQ(parsed({"--fathom_layout=channels_last"}).conditions.layout,
            models::Layout::kChannelsLast);
}

TEST(Options, ReplayCudaGraphsOnAGpuOnly) {
  EXPECT_FALSE(parsed({}).conditions.cuda_graph);
  if (const auto& why = fixtures::unavailable_reason(fixtures::Device::kCuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  EXPECT_TRUE(parsed({"--fathom_cuda_graph"}).conditions.cuda_graph);
}

TEST(Options, SizeTheReplayMemory) {
  EXPECT_EQ(parsed({}).conditions.replay, 100'000);
  EXPECT_EQ(parsed({"--fathom_replay=100"}).conditions.replay, 100);
  EXPECT_EQ(parsed({"--fathom_replay=10000000"}).conditions.replay, 10'000'000);
  EXPECT_THROW(parsed({"--fathom_replay=many"}), UsageError);
}

TEST(Options, CheckTheMachineByDefault) {
  EXPECT_EQ(parsed({}).machine_check, MachineCheck::kWarn);
  EXPECT_EQ(parsed({"--fathom_machine_check=refuse"}).machine_check, MachineCheck::kRefuse);
  EXPECT_EQ(parsed({"--fathom_machine_check=off"}).machine_check, MachineCheck::kOff);
}

TEST(Options, TakeTheMinimumTimeWithAndWithoutItsUnit) {
  const auto written = [](const std::string& typed) {
    Options options = parsed({"--benchmark_min_time=" + typed});
    write_min_time(options.google_benchmark);
    std::string last = options.google_benchmark.back();
    if (last.ends_with('s')) last.pop_back();  // as current releases of Google Benchmark want it
    return last;
  };
  EXPECT_EQ(written("0.01"), "--benchmark_min_time=0.01");
  EXPECT_EQ(written("0.01s"), "--benchmark_min_time=0.01");
  EXPECT_EQ(written("2e-3s"), "--benchmark_min_time=2e-3");
  for (const char* wrong : {"10x", "1ms", "s", "-1s", "inf", "1 s", "nans"})
    EXPECT_THROW(parsed({std::string("--benchmark_min_time=") + wrong}), UsageError) << wrong;
}

TEST(Options, NameTheMachine) {
  EXPECT_EQ(parsed({"--fathom_machine_name=lab 3"}).machine_name, "lab 3");
  EXPECT_THROW(parsed({"--fathom_machine_name=two\nlines"}), UsageError);
  EXPECT_THROW(parsed({"--fathom_machine_name=" + std::string(65, 'a')}), UsageError);
}

TEST(Options, SkipBrokenItemsByDefault) {
  EXPECT_FALSE(parsed({}).conditions.data.fail_at_first_error);
  EXPECT_FALSE(
      parsed({"--fathom_data=/", "--fathom_data_errors=skip"}).conditions.data.fail_at_first_error);
  EXPECT_TRUE(
      parsed({"--fathom_data=/", "--fathom_data_errors=fail"}).conditions.data.fail_at_first_error);
}

TEST(Options, WithALimitIsolateRows) {
  EXPECT_FALSE(parsed({}).isolate);
  const Options seconds = parsed({"--fathom_limit_seconds=5"});
  EXPECT_TRUE(seconds.isolate);
  EXPECT_EQ(seconds.limit_seconds, 5);
  const Options memory = parsed({"--fathom_limit_gb=2"});
  EXPECT_TRUE(memory.isolate);
  EXPECT_EQ(memory.limit_gb, 2);
}

TEST(Options, ExplainOneStepOnAllCores) {
  const Options options = parsed({"--fathom_explain=vgg/train"});
  EXPECT_EQ(*options.explain, (StepName{.workload = "vgg", .mode = models::Mode::kTrain}));
  for (const auto& row : make_rows(parsed({"--fathom_explain=vgg/train", "--fathom_device=cpu"})))
    EXPECT_EQ(row.threads, fixtures::usable_cores()) << row.name;
  EXPECT_EQ(options.google_benchmark.back(), "--benchmark_min_time=0.05");
  const Options longer = parsed({"--fathom_explain=vgg/train", "--benchmark_min_time=2"});
  EXPECT_NE(longer.google_benchmark.back(), "--benchmark_min_time=0.05");
  EXPECT_THROW(parsed({"--fathom_explain=vgg"}), UsageError);
  EXPECT_THROW(parsed({"--fathom_explain="}), UsageError);
}

TEST(Rows, OfAnExplanationAreTheStepAndItsOps) {
  const auto rows = make_rows(
      parsed({"--fathom_explain=alexnet/infer", "--fathom_device=cpu", "--fathom_threads=1"}));
  EXPECT_TRUE(rows.front().name.starts_with("alexnet/infer/device:cpu/threads:1/"));
  EXPECT_EQ(rows.front().profiling, Profiling::kOpShapes);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Row& row = rows[i];
    ASSERT_TRUE(row.op) << row.name;
    EXPECT_EQ(row.op->shape->workload, "alexnet");
    EXPECT_GT(row.op->shape->infer_count, 0) << row.name;
    EXPECT_NE(row.op->backend, ops::Backend::kTorchPacked) << row.name;
    EXPECT_TRUE(row.op->cache == Cache::kHot || !exceeds_caches(row)) << row.name;
    if (row.op->shape->type->name == "local_response_norm") {
      EXPECT_EQ(row.op->in_steps, row.op->backend == ops::Backend::kNative) << row.name;
    }
  }
}

TEST(Rows, OfLibTorchOnPackedWeightsAreForwardPassesOfTwoOpTypes) {
  if (!is_here(ops::Backend::kTorchPacked, fixtures::Device::kCpu))
    GTEST_SKIP() << "this LibTorch has no oneDNN";
  const auto rows = make_rows(parsed({"--fathom_threads=1", "--fathom_backend=torch_packed"}));
  EXPECT_EQ(filtered(rows, "^op/(matmul|conv2d)/[^/]+/[^/]+/forward/").size(), rows.size());
  EXPECT_FALSE(filtered(rows, "^op/matmul/vgg/").empty());
  EXPECT_FALSE(filtered(rows, "^op/conv2d/vgg/").empty());
}

TEST(Rows, OfTunedStepsOnAGpuReplayGraphs) {
  Options options = parsed({"--fathom_device=cpu", "--fathom_backend=torch,tuned"});
  options.axes.devices = {fixtures::Device::kCuda};
  for (const auto& row : step_rows(options.axes, options.conditions))
    EXPECT_EQ(row.cuda_graph, row.backend == "tuned") << row.name;
}

TEST(Rows, ThatAreSerialHaveOneThread) {
  Options options = parsed({});
  options.axes.threads = {1, 2, 4};
  const auto rows = make_rows(options);
  EXPECT_EQ(filtered(rows, "fixture/atari_step").size(), 1U);
  EXPECT_EQ(filtered(rows, "fixture/atari_step/device:cpu/threads:1/").size(), 1U);
  EXPECT_EQ(filtered(rows, "fixture/replay_sample").size(), 3U);
}

TEST(Options, PassOtherFlagsToGoogleBenchmark) {
  const Options options = parsed({"--benchmark_filter=vgg", "--fathom_seed=9"});
  EXPECT_EQ(options.google_benchmark.front(), "--benchmark_filter=vgg");
}

TEST(Options, UseTheLastJsonFile) {
  EXPECT_EQ(parsed({"--benchmark_out=a.json", "--benchmark_out=b.json"}).out, "b.json");
  EXPECT_EQ(parsed({"--benchmark_out=a.csv", "--benchmark_out_format=csv"}).out, "");
}

TEST(Rows, HaveUniqueNamesOfLegalTokens) {
  Options options =
      parsed({"--fathom_precision=fp32,bf16", "--fathom_batch=1,2", "--fathom_cache=hot,cold"});
  const std::regex model(
      "[a-z0-9_]+/(train|infer|generate)/device:(cpu|cuda)/threads:[0-9]+/batch:[0-9]+"
      "/precision:(fp32|tf32|bf16|fp16)/backend:torch");
  const std::regex op(
      "op/[a-z0-9_]+/[a-z0-9_]+/[A-Za-z0-9_-]+/"
      "(forward|dgrad|wgrad|backward|double_backward|update)"
      "/device:(cpu|cuda)/threads:[0-9]+/precision:(fp32|tf32|bf16|fp16)/cache:(hot|cold)/"
      "backend:(torch|onednn|cublas|cudnn|native|torch_packed)");
  const std::regex fixture("fixture/[a-z0-9_]+/device:(cpu|cuda)/threads:[0-9]+");
  std::set<std::string> names;
  for (const auto& row : make_rows(options)) {
    EXPECT_TRUE(std::regex_match(row.name, model) || std::regex_match(row.name, op) ||
                std::regex_match(row.name, fixture))
        << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

const std::vector<std::string> kGpuNames{"--benchmark_list_tests", "--fathom_device=cuda",
                                         "--fathom_precision=fp32,tf32,bf16"};

TEST(Rows, OfAGpuAreListedWithoutOne) {
  const auto rows = make_rows(parsed(kGpuNames));
  EXPECT_GT(filtered(rows, "/precision:tf32/").size(), 0U);
  EXPECT_GT(filtered(rows, "^fixture/host_to_device/").size(), 0U);
  for (const char* backend : {"torch", "cublas", "cudnn", "native"}) {
    EXPECT_GT(filtered(rows, std::string("backend:") + backend).size(), 0U) << backend;
  }
  EXPECT_EQ(filtered(rows, "backend:onednn").size(), 0U);
  EXPECT_EQ(filtered(rows, "^op/log_uniform/").size(), 0U) << "it is drawn on the CPU";
  for (const Row& row : rows) EXPECT_EQ(row.device, fixtures::Device::kCuda) << row.name;
}

TEST(Rows, OfCtcOnAGpuSayThatTheStepsRunCudnn) {
  for (const Row& row : filtered(make_rows(parsed(kGpuNames)), "^op/ctc_loss/")) {
    EXPECT_EQ(row.op->in_steps, row.op->backend == ops::Backend::kCudnn) << row.name;
  }
  for (const Row& row : filtered(make_rows(parsed({"--fathom_device=cpu"})), "^op/ctc_loss/")) {
    EXPECT_EQ(row.op->in_steps, row.op->backend == ops::Backend::kTorch) << row.name;
  }
}

TEST(Rows, ThatAVendorRefusesAreDroppedWithOneNoteForEachType) {
  std::vector<Row> rows = filtered(make_rows(parsed(kGpuNames)), "^op/(softmax|matmul|relu)/");
  const std::vector<Row> kept =
      filtered(rows, "backend:(torch|native|cublas)|precision:(fp32|tf32)");
  EXPECT_LT(kept.size(), rows.size());
  std::vector<std::string> notes;
  drop_refused(
      rows,
      [](const ops::ShapeRow&, const OpOptions& options) {
        const bool refused = options.backend == ops::Backend::kCudnn &&
                             options.precision == fixtures::Precision::kBf16;
        return std::string(refused ? "cuDNN: no bf16" : "");
      },
      [&](const std::string& note) { notes.push_back(note); });
  EXPECT_EQ(rows.size(), kept.size());
  EXPECT_EQ(std::set<std::string>(notes.begin(), notes.end()).size(), notes.size());
  EXPECT_EQ(std::count(notes.begin(), notes.end(),
                       "cudnn has no rows of softmax forward in bf16: cuDNN: no bf16"),
            1)
      << notes.front();
}

std::size_t matches(const std::string& filter) {
  return filtered(make_rows(parsed({})), filter).size();
}

std::vector<std::string> unused(const std::vector<std::string>& arguments,
                                const std::string& filter) {
  const Options options = parsed(arguments);
  const auto all = make_rows(options);
  return unused_values(options, all, filtered(all, filter), filter);
}

TEST(UnusedValues, AreThoseThatNoChosenRowHas) {
  const auto lines = unused({"--fathom_device=cpu", "--fathom_backend=torch,native"}, "^vgg/train");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0],
            "--fathom_backend=native: no row that runs has backend:native; "
            "--benchmark_filter=^vgg/train leaves those out");
  EXPECT_TRUE(unused({"--fathom_device=cpu", "--fathom_backend=torch"}, "^vgg/train").empty());
}

TEST(UnusedValues, OfRanksAreNamed) {
  const auto lines =
      unused({"--fathom_device=cpu", "--fathom_threads=1", "--fathom_ranks=1"}, "^vgg/infer");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("--fathom_ranks=1: no row that runs has ranks:1; ")) << lines[0];
}

TEST(UnusedValues, AreNotThoseThatTheFilterIsAbout) {
  EXPECT_TRUE(
      unused({"--fathom_device=cpu", "--fathom_backend=torch,native"}, "^op/.*backend:native/")
          .empty());
}

TEST(Contexts, AreInTheNamesOfInferenceWhereTheyAreNotItsOwn) {
  const std::vector<std::string> contexts{"--fathom_device=cpu", "--fathom_threads=1",
                                          "--fathom_context=512,1023,4096"};
  const auto all = make_rows(parsed(contexts));
  const auto count = [&](const std::string& filter) { return filtered(all, filter).size(); };
  EXPECT_EQ(count("^llama_decode/infer/.*/batch:4/precision:"), 1U);
  EXPECT_EQ(count("^llama_decode/infer/.*/batch:4/context:(1023|4096)/precision:"), 2U);
  EXPECT_EQ(count("^gpt2_decode/infer/"), 2U);
  EXPECT_EQ(count("^llama/infer/"), 3U);
  EXPECT_EQ(count("^llama/generate/.*/context:1023/"), 1U);
  EXPECT_EQ(count("^llama/train/"), 1U);
  EXPECT_EQ(unused(contexts, "^gpt2/"),
            (std::vector<std::string>{
                "--fathom_context=1023: no rows of gpt2/generate (at most 896)",
                "--fathom_context=4096: no rows of gpt2/infer (at most 1024), gpt2/generate (at "
                "most 896)"}));
  EXPECT_TRUE(unused(contexts, "^llama_decode").empty());
}

TEST(Filter, SearchesTheFullName) {
  EXPECT_GT(matches("vgg/train"), 0U);
  EXPECT_EQ(matches("/process_time/real_time$"), matches(""));
  EXPECT_EQ(matches("all"), matches(""));
  EXPECT_EQ(matches("no such row"), 0U);
}

TEST(Filter, IsInvertedByALeadingDash) {
  EXPECT_EQ(matches("vgg/train") + matches("-vgg/train"), matches(""));
}

TEST(Filter, RefusesAnInvalidExpression) { EXPECT_THROW(matches("(vgg"), UsageError); }

TEST(Nearest, FindsAMistypedPart) {
  const std::vector<std::string> names{"op/matmul/vgg/fc6", "vgg/train/device:cpu",
                                       "vgg/infer/device:cpu"};
  EXPECT_EQ(nearest("vg/train", names, 1), std::vector<std::string>{"vgg/train/device:cpu"});
  EXPECT_EQ(nearest("matmull", names, 1), std::vector<std::string>{"op/matmul/vgg/fc6"});
  EXPECT_EQ(nearest("VGG/Train", names, 1), std::vector<std::string>{"vgg/train/device:cpu"});
}

TEST(Nearest, IsEmptyWithoutASimilarName) {
  EXPECT_TRUE(nearest("qqqqqqqq", {"vgg/train"}, 3).empty());
}

}  // namespace
}  // namespace fathom::benchmarks
