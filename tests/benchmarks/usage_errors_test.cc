// What the program says of a wrong command line, without starting it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/options/option.h"
#include "tests/benchmarks/parsed_options.h"

namespace fathom::benchmarks {
namespace {

/// The message of the UsageError; empty where there is none.
std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parsed(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

struct WrongUsage {
  std::vector<std::string> arguments;
  std::string message;  ///< a part of it
};

const std::vector<WrongUsage> kWrongUsages{
    {{"--fathom_thread=2"}, "did you mean --fathom_threads?"},
    {{"--fathom_device=gpu"}, "gpu not in {cpu,cuda}"},
    {{"--fathom_threads=0"}, "--fathom_threads: Value 0 not in range 1 to"},
    {{"--fathom_threads=4096"}, "the cores that this process may use"},
    {{"--fathom_threads=two"}, "--fathom_threads"},
    {{"--fathom_batch=0"}, "--fathom_batch: Value 0 not in range 1 to 65536"},
    {{"--fathom_batch=8,8"}, "a value occurs twice"},
    {{"--fathom_context=0"}, "--fathom_context: Value 0 not in range 1 to 1048576"},
    {{"--fathom_samples=", "--fathom_profile"}, "--fathom_samples: found no value, expected "},
    {{"--fathom_samples", "--fathom_profile"}, "expected --fathom_samples=FILE"},
    {{"--fathom_seed=-1"}, "--fathom_seed: found -1, expected an integer from 0"},
    {{"--fathom_seed=18446744073709551616"}, "expected an integer from 0 to 2^64 - 1"},
    {{"--fathom_limit_seconds=0"}, "--fathom_limit_seconds: found 0, expected a number above"},
    {{"--fathom_rank_seconds=1e300"}, "--fathom_rank_seconds: found 1e300, expected a number"},
    {{"--fathom_precision=fp64"},
     "fp64 not in {fp32,tf32,bf16,fp16,int8,fp8,int8w,int4w,q8_0,q4_0}"},
    {{"--fathom_device=cpu", "--fathom_precision=tf32"}, "expected fp32, bf16 or fp16"},
    {{"--fathom_device=cpu", "--fathom_precision=fp8"}, "expected int8"},
    {{"--fathom_cache=warm"}, "warm not in {hot,cold}"},
    {{"--fathom_mkl=fast"}, "fast not in {stock,native}"},
    {{"--fathom_malloc=fast"}, "fast not in {stock,tuned}"},
    {{"--fathom_layout=nhwc"}, "nhwc not in {contiguous,channels_last}"},
    {{"--fathom_layout=channels_last", "--fathom_explain=vgg/infer"},
     "--fathom_layout=channels_last: not together with --fathom_explain, "},
    {{"--fathom_device=cpu", "--fathom_cuda_graph"}, "--fathom_cuda_graph: runs on a GPU only"},
    {{"--fathom_backend=mkl"},
     "mkl not in {torch,onednn,cublas,cudnn,native,tuned,torch_packed,inductor}"},
    {{"--fathom_device=cpu", "--fathom_backend=cudnn"},
     "--fathom_backend=cudnn: runs on a GPU only"},
    {{"--benchmark_list_tests", "--fathom_device=cuda", "--fathom_backend=torch_packed"},
     "--fathom_backend=torch_packed: runs on the CPU only"},
    {{"--fathom_data=/nonexistent"}, "/nonexistent: does not exist, expected a folder"},
    {{"--fathom_data=/etc/passwd"}, "/etc/passwd: is not a directory"},
    {{"--fathom_data_errors=fail"}, "--fathom_data_errors=fail: needs --fathom_data=DIR"},
    {{"--fathom_kernel_choice=choice.json"},
     "--fathom_kernel_choice: needs tuned in --fathom_backend"},
    {{"--fathom_data_errors=ignore"}, "ignore not in {skip,fail}"},
    {{"--fathom_machine_check=no"}, "no not in {warn,refuse,off}"},
    {{"--fathom_rom=/nonexistent.bin"}, "/nonexistent.bin: "},
    {{"--fathom_rom=/etc/passwd"}, "--fathom_rom"},
    {{"--fathom_replay=99"}, "--fathom_replay: Value 99 not in range 100 to 10000000"},
    {{"--fathom_replay=10000001"}, "--fathom_replay: Value 10000001 not in range"},
    {{"--fathom_explain=vg/train"}, "--fathom_explain=vg/train: no such step; did you mean vgg/"},
    {{"--fathom_explain=nonsense"}, "expected a workload of --fathom_models and /train or /inf"},
    {{"--fathom_explain=vgg/infer", "--fathom_batch=1"}, "not together with --fathom_batch, "},
    {{"--fathom_explain=vgg/infer", "--fathom_record=/tmp"}, "with --fathom_record, "},
    {{"--fathom_explain=vgg/infer", "--fathom_cache=hot"}, "with --fathom_cache, "},
    {{"--fathom_explain=vgg/infer", "--fathom_profile"}, "with --fathom_profile, "},
    {{"--fathom_explain=vgg/infer", "--fathom_shapes=a.json"}, "with --fathom_shapes, "},
    {{"--fathom_explain=vgg/infer", "--benchmark_filter=fc"}, "with --benchmark_filter, "},
    {{"--benchmark_repetitions=many"}, "--benchmark_repetitions=many: expected an integer"},
    {{"--benchmark_repetitions=0"}, "--benchmark_repetitions=0: expected an integer from 1"},
    {{"--benchmark_min_time=nan"}, "--benchmark_min_time=nan: expected a number of seconds"},
    {{"--benchmark_min_time=10x"}, "--benchmark_min_time=10x: expected a number of seconds"},
    {{"--benchmark_perf_counters=CYCLES"}, "--benchmark_perf_counters=CYCLES: expected none"},
    {{"--fathom_machine_name="}, "--fathom_machine_name: found no value"},
    {{"--benchmark_format=xml"}, "--benchmark_format=xml: expected console, json or csv"},
    {{"--fathom_batch=4", "--fathom_record=x"}, "not together with --fathom_record, which rec"},
};

TEST(UsageErrors, SayWhatIsWrongInOneLine) {
  for (const auto& [arguments, message] : kWrongUsages) {
    const std::string found = refusal(arguments);
    EXPECT_NE(found.find(message), std::string::npos) << arguments[0] << ": " << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  }
}

TEST(UsageErrors, NameTheExcludedOptionAndTheReason) {
  const std::string library = testing::TempDir() + "libmine.so";
  std::ofstream(library) << "not loaded";
  const std::map<std::string, std::string> values{{"--fathom_ranks", "1"},
                                                  {"--fathom_batch", "4"},
                                                  {"--fathom_context", "4"},
                                                  {"--fathom_precision", "fp32"},
                                                  {"--fathom_kernels", library},
                                                  {"--fathom_study", "tbd"},
                                                  {"--fathom_explain", "vgg/infer"},
                                                  {"--fathom_cache", "hot"},
                                                  {"--fathom_layout", "channels_last"},
                                                  {"--fathom_backend", "torch"},
                                                  {"--fathom_shapes", "a.json"},
                                                  {"--fathom_record", "shapes"},
                                                  {"--fathom_limit_gb", "9"},
                                                  {"--fathom_limit_seconds", "9"},
                                                  {"--benchmark_filter", "vgg"}};
  const auto typed = [&](const std::string& flag) {
    const auto found = values.find(flag);
    return found == values.end() ? flag : flag + '=' + found->second;
  };
  for (const auto& option : option_table()) {
    for (const auto& [flag, why] : option.rules.excludes) {
      const std::string found = refusal({typed(option.flag), typed(flag)});
      EXPECT_TRUE(found.starts_with(option.flag)) << found;
      const auto expected =
          std::string(": not together with ").append(flag).append(", ").append(why);
      EXPECT_NE(found.find(expected), std::string::npos) << option.flag << ": " << found;
    }
  }
}

TEST(UsageErrors, AreNoneWhereAChoiceIsTheDefault) {
  EXPECT_EQ(refusal({"--fathom_layout=contiguous", "--fathom_explain=vgg/train"}), "");
  EXPECT_EQ(refusal({"--fathom_isolate=false", "--fathom_explain=vgg/train"}), "");
}

}  // namespace
}  // namespace fathom::benchmarks
