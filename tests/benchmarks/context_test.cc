#include "benchmarks/output/context/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/machine/machine.h"
#include "benchmarks/output/context/context_fields.h"
#include "benchmarks/output/context/loaded_libraries.h"
#include "benchmarks/output/files/json.h"
#include "benchmarks/ranks/crew.h"
#include "tests/benchmarks/parsed_options.h"
#include "tests/temporary_folder.h"

namespace fathom::benchmarks {
namespace {

/// The entry of the context; empty where there is none.
std::string entry(const std::string& key, const std::vector<std::string>& arguments = {}) {
  std::vector<std::string> all{"--fathom_device=cpu"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ContextEntries entries = context(parsed(all));
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& one) { return one.first == key; });
  return found == entries.end() ? "" : found->second;
}

/// Sets a variable of the environment while it exists.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Context, HoldsTheVariablesThatChangeWhatCudaDoes) {
  const std::string before = entry("cuda_environment");
  const Variable cudnn("CUDNN_LOGLEVEL_DBG", "0");
  const Variable tf32("NVIDIA_TF32_OVERRIDE", "0");
  const Variable other("CUDA_HOME_OF_NOBODY", "/usr");
  const std::string now = entry("cuda_environment");
  EXPECT_NE(now.find("CUDNN_LOGLEVEL_DBG=0"), std::string::npos) << now;
  EXPECT_NE(now.find("NVIDIA_TF32_OVERRIDE=0"), std::string::npos) << now;
  EXPECT_EQ(now.find("CUDA_HOME_OF_NOBODY"), std::string::npos) << now;
  EXPECT_NE(now, before);
}

TEST(Context, HoldsTheVariablesThatChangeTimesByTheirStarts) {
  for (const auto& [name, key] :
       {std::pair("OMP_SCHEDULE", "openmp"), std::pair("GOMP_STACKSIZE", "openmp"),
        std::pair("OMP_THREAD_LIMIT", "openmp"), std::pair("MALLOC_CONF", "malloc"),
        std::pair("MALLOC_PERTURB_", "malloc"), std::pair("GLIBC_TUNABLES", "malloc"),
        std::pair("ONEDNN_MAX_CPU_ISA", "environment"),
        std::pair("DNNL_MAX_CPU_ISA", "environment"),
        std::pair("MKL_ENABLE_INSTRUCTIONS", "environment"), std::pair("MKL_CBWR", "environment"),
        std::pair("TORCH_MADE_UP", "environment"), std::pair("OPENBLAS_CORETYPE", "environment"),
        std::pair("GLOO_SOCKET_IFNAME", "environment")}) {
    const Variable variable(name, "made-up");
    EXPECT_NE(entry(key).find(std::string(name) + "=made-up"), std::string::npos) << name;
  }
}

TEST(Context, ListsVariablesInTheOrderOfTheirNames) {
  const Variable second("ONEDNN_VERBOSE", "0");
  const Variable first("MKL_CBWR", "AVX2");
  const std::string found = entry("environment");
  EXPECT_LT(found.find("MKL_CBWR=AVX2"), found.find("ONEDNN_VERBOSE=0")) << found;
  EXPECT_NE(found.find("ONEDNN_VERBOSE=0"), std::string::npos);
}

TEST(Context, HoldsNoSecrets) {
  const Variable token("TORCH_HUB_TOKEN", "hush");
  const Variable password("NCCL_PASSWORD", "hush");
  for (const auto& [key, value] : context(parsed({}))) {
    EXPECT_EQ(value.find("hush"), std::string::npos) << key;
  }
}

TEST(Context, HoldsTheContentOfFilesThatChooseWhatRuns) {
  const tests::TemporaryFolder folder;
  const auto path = folder.write("shapes.json", std::string("one")).string();
  const std::string option = "--fathom_shapes=" + path;
  const std::string one = entry("fathom_shapes", {option});
  EXPECT_EQ(one.size(), 16U);
  folder.write("shapes.json", std::string("two"));
  EXPECT_NE(entry("fathom_shapes", {option}), one);
  folder.write("shapes.json", std::string("one"));
  EXPECT_EQ(entry("fathom_shapes", {option}), one);
  EXPECT_EQ(entry("fathom_shapes"), "");
}

TEST(Context, NamesTheLibrariesByTheirBuilds) {
  const std::string found = entry("libraries");
  for (const char* start : {"libtorch_cpu.so:", "libc.so.6:", "libgomp"})
    EXPECT_NE(found.find(start), std::string::npos) << start << " in " << found;
  EXPECT_EQ(loaded_libraries(), found);
  EXPECT_GE(program_build_id().size(), 16U);
}

TEST(Context, HoldsTheNameOfTheMachine) {
  EXPECT_EQ(entry("machine_name"), "");
  EXPECT_EQ(entry("machine_name", {"--fathom_machine_name=lab 3"}), "lab 3");
}

/// Every entry is the machine's, a setting, of the run or a description: results/ and
/// --fathom_resume compare what the table says.
TEST(ContextFields, KnowEveryEntry) {
  ContextEntries entries = context(parsed({"--fathom_ranks=1", "--fathom_machine_name=a"}));
  for (const auto& [key, value] : google_benchmark_context()) entries.emplace_back(key, value);
  for (const auto& one : table_context()) entries.push_back(one);
  for (const auto& fact : machine_facts(/*with_gpu=*/false))
    entries.emplace_back("machine_" + fact.key, fact.value);
  const Options options = parsed({"--fathom_ranks=1"});
  for (const auto& one : Crew(options, {}, nullptr).context()) entries.push_back(one);
  entries.emplace_back("peak_flops_cpu_threads1_fp32", "");
  EXPECT_GT(entries.size(), 60U);
  for (const auto& [key, value] : entries) EXPECT_TRUE(is_context_field(key)) << key;
}

TEST(ContextFields, AreListedForReaders) {
  const auto lists = table_context();
  const auto list = [&](const std::string& key) {
    for (const auto& [name, text] : lists) {
      if (name == key) return ' ' + text + ' ';
    }
    return std::string();
  };
  for (const char* key : {"cpu", "caches", "num_cpus", "gpu", "cpu_family", "machine_name"})
    EXPECT_NE(list("machine_identity").find(' ' + std::string(key) + ' '), std::string::npos)
        << key;
  for (const char* key : {"openmp", "environment", "libtorch", "fathom_kernel_choice", "libraries"})
    EXPECT_NE(list("settings").find(' ' + std::string(key) + ' '), std::string::npos) << key;
  EXPECT_EQ(list("settings").find("host_name"), std::string::npos);
}

/// A run with fewer vector instructions is of the same machine with another setting.
TEST(ContextFields, OfVectorInstructionsAreASettingWhereTheEnvironmentChoosesThem) {
  EXPECT_EQ(context_field("cpu_capability"), ContextField::kMachine);
  const Variable chosen("ATEN_CPU_CAPABILITY", "default");
  EXPECT_EQ(context_field("cpu_capability"), ContextField::kSetting);
}

}  // namespace
}  // namespace fathom::benchmarks
