// The options that choose the rows.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/nearest.h"
#include "benchmarks/options/option_value.h"
#include "fixtures/files/text.h"
#include "fixtures/files/written_file.h"
#include "fixtures/machine/cpus.h"
#include "models/network/network_rows.h"
#include "models/table.h"
#include "ops/backends/onednn/library.h"
#include "ops/backends/operators/kernel_library.h"
#include "ops/backends/torch_packed.h"
#include "ops/backends/vendor.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Device;
using fixtures::Precision;
using ops::Backend;

constexpr int64_t kMaxBatch = 1 << 16;
constexpr int64_t kMaxContext = 1 << 20;
constexpr int kMaxThreads = 1 << 12;
constexpr int kMaxRanks = 1 << 12;

template <typename Value>
bool holds(const std::vector<Value>& list, Value value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// The backend of a name: ours, or the library of --fathom_kernels. Throws UsageError.
Backend backend_of(const std::string& typed, const Options& options) {
  const Axes& axes = options.axes;
  if (axes.library != nullptr && typed == axes.library->name()) return Backend::kLibrary;
  if (holds({ops::kBackendNames.begin(), ops::kBackendNames.end()}, std::string_view(typed)))
    return enum_value<Backend>(typed, ops::kBackendNames);
  std::string known;
  for (const auto name : ops::kBackendNames) known.append(known.empty() ? "" : ",").append(name);
  if (axes.library != nullptr) known.append(",").append(axes.library->name());
  throw UsageError("--fathom_backend: " + typed + " not in {" + known + "}");
}

/// The path of a library, which `load` takes while the command line is read: later options depend
/// on it.
OptionValue library(std::string Options::*path, void (*load)(Options& options)) {
  OptionValue made = value("FILE", path);
  made.declare = [path, load](CLI::App& app, const std::string& flag, Options& options) {
    const auto set = [=, &options](const std::string& typed) {
      options.*path = typed;
      try {
        // A file that is missing is missing under any name.
        if (!std::ifstream(typed)) throw std::runtime_error(std::strerror(errno));
        load(options);
      } catch (const std::runtime_error& error) {
        throw UsageError(flag + "=" + typed + ": " + error.what());
      }
    };
    app.add_option_function<std::string>(flag, set);
  };
  return made;
}

/// Until resolve_for_machine() loads the kernels, only their name is known.
void name_kernels(Options& options) {
  options.axes.library = std::make_shared<ops::KernelLibrary>(options.kernels);
}

void use_onednn(Options& options) { ops::onednn::use(options.onednn); }

/// Until main() reads the networks, only their names are known.
std::string network(const std::string& path, const Options& options) {
  const std::string own = models::network_name(path);
  for (const auto& other : options.networks) {
    if (models::network_name(other) == own &&
        models::is_compiled(other) == models::is_compiled(path)) {
      throw UsageError(std::string("--fathom_network=")
                           .append(path)
                           .append(": ")
                           .append(other)
                           .append(" gives rows of this name, too; rename a file"));
    }
  }
  return path;
}

std::string network_ids(const Options& options) {
  std::string ids;
  for (const auto& path : options.networks)
    ids.append(ids.empty() ? "" : " ").append(models::network_id(path));
  return ids;
}

StepName step_name(const std::string& typed, const Options& options) {
  std::vector<std::string> known;
  std::vector<StepName> steps;
  for (const auto& workload : models::workloads()) {
    for (const auto mode : models::modes(workload)) steps.push_back({workload.name, mode});
  }
  for (const auto& path : options.networks) {
    for (const auto mode : {models::Mode::kInfer, models::Mode::kTrain})
      steps.push_back({models::network_name(path), mode});
  }
  for (const auto& step : steps) {
    known.push_back(step.workload + '/' + std::string(name(step.mode)));
    if (typed == known.back()) return step;
  }
  const auto best = nearest(typed, known, 1);
  throw UsageError("--fathom_explain=" + typed + ": no such step" +
                   (best.empty() ? ", expected a workload of --fathom_models and /train or /infer"
                                 : "; did you mean " + best[0] + "?"));
}

OptionValue step() {
  const auto declare = [](CLI::App& app, const std::string& flag, Options& options) {
    const auto set = [&options](const std::string& typed) {
      options.explain = step_name(typed, options);
    };
    app.add_option_function<std::string>(flag, set);
  };
  return {OptionValue::Kind::kOther, "WORKLOAD/MODE", declare,
          [](const Options&) { return std::vector<std::string>(); }};
}

std::string refused_threads(const Options& options) {
  if (!holds(options.axes.devices, Device::kCpu))
    return ": only CPU rows have several threads; add cpu to --fathom_device";
  const int cores = fixtures::usable_cores();
  for (const int threads : options.axes.threads) {
    if (threads > cores) {
      return "=" + std::to_string(threads) + ": expected 1 to " + std::to_string(cores) +
             ", the cores that this process may use";
    }
  }
  return {};
}

std::string refused_ranks(const Options& options) {
  const Axes& axes = options.axes;
  for (const int ranks : axes.ranks) {
    if (axes.place && ranks > axes.place->size) {
      return "=" + std::to_string(ranks) + ": expected 1 to " + std::to_string(axes.place->size) +
             ", the processes that " + axes.place->launcher + " has started";
    }
    if (std::none_of(axes.threads.begin(), axes.threads.end(),
                     [&](int threads) { return has_cores(axes, ranks, threads); })) {
      return "=" + std::to_string(ranks) + ": this process may use " +
             fixtures::counted(fixtures::usable_cores(), "core") +
             ", expected one for each thread of each rank on this host";
    }
  }
  return {};
}

std::string refused_precision(const Options& options) {
  for (const auto& [precision, instead] :
       {std::pair{Precision::kTf32, "fp32, bf16 or fp16"}, {Precision::kFp8, "int8"}}) {
    if (holds(options.axes.precisions, precision) && !holds(options.axes.devices, Device::kCuda))
      return "=" + std::string(name(precision)) +
             ": runs on a GPU only, but --fathom_device is cpu; expected " + instead;
  }
  if (holds(options.axes.devices, Device::kCpu)) return {};
  for (const auto precision : options.axes.precisions) {
    if (fixtures::is_weight_only(precision))
      return "=" + std::string(name(precision)) +
             ": runs on the CPU only, which --fathom_device leaves out";
  }
  return {};
}

std::string refused_backend(const Options& options) {
  const Axes& axes = options.axes;
  for (const auto backend : {Backend::kCublas, Backend::kCudnn}) {
    if (!holds(axes.backends, backend)) continue;  // looking for a GPU starts CUDA
    const std::string refusal = refused_without_gpu(options);
    if (!refusal.empty()) return "=" + std::string(name(backend)) + refusal;
  }
  if (holds(axes.backends, Backend::kInductor) &&
      std::none_of(options.networks.begin(), options.networks.end(), models::is_compiled)) {
    return "=inductor: needs a network that AOTInductor compiled, in --fathom_network=FILE";
  }
  for (const auto backend : {Backend::kOneDnn, Backend::kTorchPacked}) {
    if (holds(axes.backends, backend) && !holds(axes.devices, Device::kCpu)) {
      return "=" + std::string(name(backend)) +
             ": runs on the CPU only, which --fathom_device leaves out";
    }
  }
  if (holds(axes.backends, Backend::kTorchPacked) &&
      std::none_of(axes.precisions.begin(), axes.precisions.end(), [](auto precision) {
        return is_here(Backend::kTorchPacked, Device::kCpu, precision);
      })) {
    return "=torch_packed: " + ops::torch_packed::refusal(axes.precisions.front());
  }
  if (!holds(axes.backends, Backend::kOneDnn)) return {};
  if (ops::onednn::version().empty())
    return "=onednn: built without oneDNN; configure with -DDNNL_ROOT=DIR";
  if (std::none_of(axes.precisions.begin(), axes.precisions.end(), [](auto precision) {
        return is_here(Backend::kOneDnn, Device::kCpu, precision);
      })) {
    return "=onednn: oneDNN has no " + std::string(name(axes.precisions.front())) +
           " on this CPU, expected fp32 in --fathom_precision";
  }
  return {};
}

std::string refused_kernels(const Options& options) {
  const Axes& axes = options.axes;
  if (std::any_of(axes.devices.begin(), axes.devices.end(),
                  [&](auto device) { return axes.library->has_kernels_for(device); })) {
    return {};
  }
  return "=" + options.kernels + ": registers kernels for " +
         std::string(name(axes.library->operators().begin()->first)) +
         ", which is not among the devices of these rows";
}

std::string refused_kernel_choice(const Options& options) {
  if (holds(options.axes.backends, Backend::kTuned) || options.study == Study::kFull ||
      options.study == Study::kModern)
    return {};
  return ": needs tuned in --fathom_backend, or --fathom_study=full or modern";
}

std::string refused_without_network(const Options& options) {
  return options.networks.empty() ? ": needs --fathom_network=FILE" : "";
}

/// Presets have many rows.
void shorten_rows(Options& options) {
  if (!is_given("--benchmark_min_time", options))
    options.google_benchmark.emplace_back("--benchmark_min_time=0.05");
}

void imply_of_study(Options& options) {
  shorten_rows(options);
  if (options.recording.samples.empty() && !options.out.empty() &&
      fixtures::is_plain_file(options.out))
    options.recording.samples = options.out + ".samples.jsonl";
}

}  // namespace

OptionGroup axis_options() {
  using enum OptionRules::OwnProcess;
  constexpr auto kInput = OptionRules::File::kInput;
  constexpr auto kRun = ContextField::kRun;
  const Exclusion recorded{"--fathom_record",
                           "which records fp32 steps at the workloads' batch sizes"};
  return {"What to run",
          {{"--fathom_device",
            "runs on cpu, cuda (default: the devices present)",
            list(&Axes::devices, fixtures::kDeviceNames),
            {.token = "device", .own_process = kValueOfRow}},
           // A row's own process inherits the choice with its environment.
           {"--fathom_gpu",
            "uses this GPU (default: CUDA's first)",
            value("INDEX|UUID", &Options::gpu),
            {.own_process = kNothing}},
           {"--fathom_threads",
            "sets the threads of CPU rows (default: 1, 2, 4, ... and all cores)",
            list(&Axes::threads, 1, kMaxThreads),
            {.token = "threads", .refusal = refused_threads}},
           {"--fathom_ranks",
            "adds rows of several processes that train one model",
            list(&Axes::ranks, 1, kMaxRanks),
            {.token = "ranks",
             .excludes = {{"--fathom_explain", "which profiles one process"},
                          {"--fathom_study", "whose rows are the same on every machine"},
                          {"--fathom_record", "which measures nothing"},
                          {"--fathom_cuda_graph", "a captured step reduces no gradients"}},
             .refusal = refused_ranks,
             .own_process = kOfRanks}},
           {"--fathom_batch",
            "sets the batch sizes of the workloads (default: each one's own)",
            list(&Axes::batches, int64_t{1}, kMaxBatch),
            {.token = "batch", .excludes = {recorded}, .own_process = kValueOfRow}},
           {"--fathom_context",
            "sets the tokens of prompts and in the cache of decoding steps\n"
            "(default: each one's own)",
            list(&Axes::contexts, int64_t{1}, kMaxContext),
            {.token = "context", .excludes = {recorded}, .own_process = kValueOfRow}},
           {"--fathom_precision",
            "sets fp32, bf16 or fp16 (by autocast), tf32 (GPU), or for inference int8, fp8 (GPU),\n"
            "int8w, int4w, q8_0 or q4_0 (CPU) (default: fp32)",
            list(&Axes::precisions, fixtures::kPrecisionNames),
            {.token = "precision", .excludes = {recorded}, .refusal = refused_precision}},
           {"--fathom_backend",
            "backends of ops (default: all) and of steps (default: torch)",
            list<std::string>(&Axes::backends, {}, backend_of),
            {.token = "backend", .refusal = refused_backend, .own_process = kValueOfRow}},
           {"--fathom_onednn",
            "calls another oneDNN 3 than the one of the build",
            library(&Options::onednn, use_onednn),
            {.file = kInput, .context = {"fathom_onednn"}}},
           {"--fathom_kernels",
            "adds rows of steps and ops on your kernels in lib<name>.so",
            library(&Options::kernels, name_kernels),
            {.excludes = {{"--fathom_study", "whose rows are the same on every machine"},
                          {"--fathom_record", "which records the ops of LibTorch"}},
             .refusal = refused_kernels,
             .file = kInput,
             .context = {"fathom_kernels", kRun}}},
           {"--fathom_keep_unreplaced",
            "times rows in which these kernels or oneDNN's replace nothing, too",
            flag(&Axes::keep_unreplaced)},
           {"--fathom_kernel_choice",
            "repeats the choices of tuned in an earlier <out>.kernels.json",
            value("FILE", &Conditions::kernel_choice),
            {.refusal = refused_kernel_choice,
             .file = kInput,
             .context = {"fathom_kernel_choice"},
             .own_process = kOfTuned}},
           {"--fathom_cache",
            "hot: the data of ops in the caches; cold: in memory (default: hot)",
            list(&Axes::caches, kCacheNames),
            {.token = "cache", .own_process = kValueOfRow}},
           {"--fathom_shapes",
            "adds rows with the op shapes of this JSON file",
            value("FILE", &Axes::shapes),
            {.file = kInput, .context = {"fathom_shapes"}}},
           {"--fathom_study",
            "runs the rows for a report, of Fathom's workloads, TBD's,\n"
            "modern language models or all",
            choice<Study>(&Options::study, kStudyNames),
            {.excludes = {{"--fathom_explain", "which has rows of its own"},
                          {"--fathom_record", "which measures nothing"},
                          {"--fathom_batch", "it sweeps batches around the default"},
                          {"--fathom_context", "its decoding steps have the workloads' own"},
                          {"--fathom_cache", "it runs ops hot and cold"},
                          {"--fathom_backend", "which it sets itself"},
                          {"--fathom_profile", "it profiles the steps that its figures need"},
                          {"--fathom_memory",
                           "it measures the memory of the steps that its figures need"},
                          {"--fathom_shapes", "its op shapes are those of the workloads"}},
             .imply = imply_of_study,
             .refusal = refused_without_out,
             .context = {"fathom_study", kRun},
             .own_process = kNothing}},
           {"--fathom_explain",
            "runs a step and its ops, and prints why the step takes its time",
            step(),
            {.excludes = {{"--fathom_resume", "it measures all its rows in one run"},
                          {"--fathom_record", "which measures nothing"},
                          {"--fathom_batch", "its op shapes are those of the workload's own batch"},
                          {"--fathom_context", "its op shapes are those of the workload's own"},
                          {"--fathom_cache", "it runs ops hot and cold"},
                          {"--fathom_profile", "it profiles the step itself"},
                          {"--fathom_shapes", "its op shapes are those of the workload"},
                          {"--benchmark_filter", "it chooses its rows itself"}},
             .imply = shorten_rows,
             .own_process = kNothing}},
           // After --fathom_explain, which may name one of them.
           {"--fathom_network",
            "adds your networks: files of torch.export, torch.jit or AOTInductor",
            list<std::string>(&Options::networks, {}, network),
            {.file = kInput, .context = {"fathom_network", ContextField::kSetting, network_ids}}},
           {"--fathom_network_inputs",
            "gives them these inputs: a file of torch.save, or float32:8x3x224x224,...",
            value("FILE|SHAPES", &Options::network_inputs),
            {.refusal = refused_without_network, .context = {"fathom_network_inputs"}}}}};
}

}  // namespace fathom::benchmarks
