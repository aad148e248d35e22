// The options that choose how a row is measured.
#include <array>
#include <charconv>
#include <cstdint>

#include "benchmarks/options/option_value.h"

namespace fathom::benchmarks {
namespace {

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
  const fixtures::DataSource& data = options.conditions.data;
  return data.synthetic() && data.fail_at_first_error ? "=fail: needs --fathom_data=DIR" : "";
}

std::string data_source(const Options& options) {
  const fixtures::DataSource& data = options.conditions.data;
  return data.synthetic() ? "synthetic" : data.directory.string();
}

std::string rom_path(const Options& options) { return options.conditions.data.rom.string(); }

std::string bucket_mb(const Options& options) {
  return options.axes.ranks.empty() ? "" : number_text(options.conditions.bucket_mb);
}

}  // namespace

std::vector<Option> condition_options() {
  constexpr auto kGroup = OptionGroup::kConditions;
  constexpr auto kSetting = ContextField::kSetting;
  const char* const contiguous = "whose op rows are contiguous";
  return {
      {.flag = "--fathom_mkl",
       .group = kGroup,
       .help = "native: MKL uses its widest vector instructions on every CPU, not only on Intel's",
       .fallback = "stock",
       .value = choice(
           [](auto& options) -> auto& { return options.conditions.mkl; }, kMklNames),
       .context = {"fathom_mkl", kSetting}},
      {.flag = "--fathom_malloc",
       .group = kGroup,
       .help = "tuned: malloc keeps freed memory for later steps",
       .fallback = "stock",
       .value = choice(
           [](auto& options) -> auto& { return options.conditions.malloc; }, kMallocNames),
       .context = {"fathom_malloc", kSetting}},
      {.flag = "--fathom_layout",
       .group = kGroup,
       .help = "stores images and filters of convolutions so",
       .fallback = "contiguous",
       .value = choice(
           [](auto& options) -> auto& { return options.conditions.layout; }, models::kLayoutNames),
       .excludes = {{"--fathom_explain", contiguous}, {"--fathom_study", contiguous}},
       .context = {"fathom_layout", kSetting}},
      {.flag = "--fathom_cuda_graph",
       .group = kGroup,
       .help = "captures each step on a GPU once, then times replays",
       .value = flag([](auto& options) -> auto& { return options.conditions.cuda_graph; }),
       .excludes = {{"--fathom_explain", "which times ops that a replayed graph does not call"},
                    {"--fathom_study", "which profiles ops that a replayed graph does not call"},
                    {"--fathom_profile", "a replayed graph calls no ops"},
                    {"--fathom_memory", "which logs allocations, and a replayed graph makes none"}},
       .refusal = refused_without_gpu,
       .context = {"fathom_cuda_graph", kSetting}},
      {.flag = "--fathom_bucket_mb",
       .group = kGroup,
       .help = "sets the MiB of gradients that ranks reduce at once",
       .fallback = "25",
       .value = number(
           [](auto& options) -> auto& { return options.conditions.bucket_mb; }, positive_number()),
       .refusal = refused_without_ranks,
       .context = {"fathom_bucket_mb", kSetting, bucket_mb},
       .own_process = OwnProcess::kOfRanks},
      {.flag = "--fathom_seed",
       .group = kGroup,
       .help = "seeds weights, data and dropout",
       .fallback = "0",
       .value = number(
           [](auto& options) -> auto& { return options.conditions.seed; }, unsigned_integer()),
       .context = {"seed", kSetting}},
      {.flag = "--fathom_data",
       .group = kGroup,
       .help = "reads data sets from sub-folders of DIR",
       .fallback = "synthetic data",
       .value = string(
           [](auto& options) -> auto& { return options.conditions.data.directory; }, "DIR"),
       .context = {"data", kSetting, data_source}},
      {.flag = "--fathom_data_errors",
       .group = kGroup,
       .help = "skips up to 1 % broken items or fails at the first",
       .fallback = "skip",
       .value = choice(
           [](auto& options) -> auto& { return options.conditions.data.fail_at_first_error; },
           kDataErrorsNames),
       .refusal = refused_data_errors},
      {.flag = "--fathom_rom",
       .group = kGroup,
       .help = "plays this Atari game; needs -DFATHOM_ALE=ON",
       .fallback = "built in",
       .value = file([](auto& options) -> auto& { return options.conditions.data.rom; }),
       .file = OptionFile::kInput,
       .context = {"rom", kSetting, rom_path}},
      {.flag = "--fathom_replay",
       .group = kGroup,
       .help = "sets the frames of the replay memory in fixtures",
       .fallback = "100000",
       .value = number(
           [](auto& options) -> auto& { return options.conditions.replay; },
           CLI::Range(kMinReplay, kMaxReplay)),
       .context = {"fathom_replay", kSetting}},
  };
}

}  // namespace fathom::benchmarks
