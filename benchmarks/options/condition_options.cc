// The options that choose how a row is measured.
#include <array>
#include <charconv>
#include <cstdint>

#include "benchmarks/options/option_value.h"

namespace fathom::benchmarks {
namespace {

using fixtures::DataSource;

/// Of DataSource::fail_at_first_error.
constexpr std::array<std::string_view, 2> kDataErrorsNames{"skip", "fail"};

constexpr int64_t kMinReplay = 100;  // Fathom starts to learn after this many frames
constexpr int64_t kMaxReplay = 10'000'000;

CLI::Validator unsigned_integer() {
  const auto refusal = [](const std::string& typed) -> std::string {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
    if (error == std::errc() && end == typed.data() + typed.size()) return {};
    return "found " + typed + ", expected an integer from 0 to 2^64 - 1";
  };
  return {refusal, ""};
}

std::string refused_data_errors(const Options& options) {
  return options.conditions.data.synthetic() ? "=fail: needs --fathom_data=DIR" : "";
}

std::string data_source(const Options& options) {
  const DataSource& data = options.conditions.data;
  return data.synthetic() ? "synthetic" : data.directory.string();
}

std::string rom_path(const Options& options) { return options.conditions.data.rom.string(); }

std::string bucket_of_ranks(const Options& options) {
  return options.axes.ranks.empty() ? "" : word(options.conditions.bucket_mb);
}

}  // namespace

OptionGroup condition_options() {
  using Rules = OptionRules;
  const std::string contiguous = "whose op rows are contiguous";
  return {
      "How to run it",
      {{"--fathom_mkl",
        "native: MKL uses its widest vector instructions on every CPU, not only on Intel's "
        "(default: stock)",
        choice<Mkl>(&Conditions::mkl, kMklNames),
        {.context = {"fathom_mkl"}}},
       {"--fathom_malloc",
        "tuned: malloc keeps freed memory for later steps (default: stock)",
        choice<Malloc>(&Conditions::malloc, kMallocNames),
        {.context = {"fathom_malloc"}}},
       {"--fathom_layout",
        "stores images and filters of convolutions so (default: contiguous)",
        choice<models::Layout>(&Conditions::layout, models::kLayoutNames),
        {.excludes = {{"--fathom_explain", contiguous}, {"--fathom_study", contiguous}},
         .context = {"fathom_layout"}}},
       {"--fathom_cuda_graph",
        "captures each step on a GPU once, then times replays",
        flag(&Conditions::cuda_graph),
        {.excludes = {{"--fathom_explain", "which times ops that a replayed graph does not call"},
                      {"--fathom_study", "which profiles ops that a replayed graph does not call"},
                      {"--fathom_profile", "a replayed graph calls no ops"},
                      {"--fathom_memory",
                       "which logs allocations, and a replayed graph makes none"}},
         .refusal = refused_without_gpu,
         .context = {"fathom_cuda_graph"}}},
       {"--fathom_bucket_mb",
        "sets the MiB of gradients that ranks reduce at once (default: 25)",
        value("N", &Conditions::bucket_mb, positive_number()),
        {.refusal = refused_without_ranks,
         .context = {.key = "fathom_bucket_mb", .value = bucket_of_ranks},
         .own_process = Rules::OwnProcess::kOfRanks}},
       {"--fathom_seed",
        "seeds weights, data and dropout (default: 0)",
        value("N", &Conditions::seed, unsigned_integer()),
        {.context = {"seed"}}},
       {"--fathom_data",
        "reads data sets from sub-folders of DIR (default: synthetic data)",
        value("DIR", &DataSource::directory),
        {.context = {.key = "data", .value = data_source}}},
       {"--fathom_data_errors",
        "skips up to 1 % broken items or fails at the first (default: skip)",
        choice<bool>(&DataSource::fail_at_first_error, kDataErrorsNames),
        {.refusal = refused_data_errors}},
       {"--fathom_rom",
        "plays this Atari game; needs -DFATHOM_ALE=ON (default: built in)",
        value("FILE", &DataSource::rom),
        {.file = Rules::File::kInput, .context = {.key = "rom", .value = rom_path}}},
       {"--fathom_replay",
        "sets the frames of the replay memory in fixtures (default: 100000)",
        value("N", &Conditions::replay, CLI::Range(kMinReplay, kMaxReplay)),
        {.context = {"fathom_replay"}}}}};
}

}  // namespace fathom::benchmarks
