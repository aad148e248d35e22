#include "models/step.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/full.h>
#include <c10/core/InferenceMode.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "fixtures/random.h"
#include "models/autocast.h"
#include "models/captured.h"
#include "models/parameter_count.h"
#include "ops/core/check.h"
#include "ops/profiler/observe.h"

namespace fathom::models {
namespace {

/// Autocast to the precision, where that has 16 bits.
void enable_autocast(std::optional<Autocast>& autocast, fixtures::Precision precision,
                     at::DeviceType device) {
  if (fixtures::is_half(precision)) autocast.emplace(device, true, ops::scalar_type(precision));
}

/// Images and filters, the tensors of four dimensions, with the channels last in memory.
at::Tensor with_channels_last(const at::Tensor& tensor) {
  return tensor.dim() == 4 ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor;
}

/// Adds the layers among an inference's calls. What composites, such as recurrent layers, multiply
/// is theirs.
class LayerFinder final : public ops::Observer {
 public:
  explicit LayerFinder(ops::QuantizedLayers& layers) : layers_(layers) {}

  bool start(const ops::Event& event) override {
    if (event.what == ops::Event::What::kScope) return true;
    layers_.add(ops::operator_name(event.call), event.call.arguments);
    return false;
  }

 private:
  ops::QuantizedLayers& layers_;
};

/// The states of the random generators of a device and of the CPU, which draws seq2seq's candidates
/// and faster_rcnn's samples also in steps on a GPU.
class RandomState {
 public:
  explicit RandomState(at::Device device) {
    save(at::detail::getDefaultCPUGenerator());
    if (!device.is_cpu()) save(at::globalContext().defaultGenerator(device));
  }
  void restore() {
    for (auto& [generator, state] : saved_) generator.set_state(state);
  }

 private:
  void save(const at::Generator& generator) {
    saved_.emplace_back(generator, generator.get_state());
  }

  std::vector<std::pair<at::Generator, at::Tensor>> saved_;
};

/// Each rank has its own batches; those of rank 0 are a single process's.
uint64_t batch_seed(const StepOptions& options) {
  const int rank = options.ranks.rank();
  return rank == 0 ? options.seed
                   : fixtures::seed_for(options.seed, "rank " + std::to_string(rank));
}

}  // namespace

int64_t default_batch(const WorkloadRow& row, Mode mode) {
  return mode != Mode::kTrain && row.infer_batch > 0 ? row.infer_batch : row.batch;
}

int64_t context_of(const WorkloadRow& row, const StepOptions& options) {
  return options.context > 0 ? options.context : own_context(row, options.mode);
}

Step::Step(const WorkloadRow& row, const StepOptions& options) : options_(options) {
  fixtures::allow_tf32(options.precision == fixtures::Precision::kTf32);
  at::manual_seed(options.seed);  // weights and dropout
  const at::Device device = fixtures::torch_device(options.device);
  // As PyTorch's tuning guide says: cuDNN times its algorithms at the first call of each shape.
  // This would take most of the time of tests, which run small networks.
  if (device.is_cuda()) {
    at::globalContext().setBenchmarkCuDNN(options.scale == Scale::kFull);
  }
  workload_ = row.make(options.scale);
  workload_->module().to(device);
  if (has_channels_last()) {
    for (auto& parameter : workload_->module().parameters()) {
      parameter.set_data(with_channels_last(parameter.detach()));
    }
  }
  workload_->module().train(options.mode == Mode::kTrain);
  load(options.batch);
  if (options.mode == Mode::kInfer) {
    std::optional<Autocast> autocast;
    enable_autocast(autocast, options.precision, device.type());
    const c10::InferenceMode inference;
    workload_->prepare_inference(inputs_.batches[0]);
  }
  if (fixtures::is_quantized(options.precision)) quantize();
  if (options.mode == Mode::kTrain && options.precision == fixtures::Precision::kFp16)
    loss_scale_.emplace(device);
  if (options.ranks.group == nullptr) return;
  // Gradients are averaged over the ranks, but those of a summed loss add up.
  if (row.sums_loss) loss_factor_ = at::full({}, static_cast<double>(options.ranks.size()), device);
  connect_ranks();
}

/// In networks with convolutions, layers are quantised in int8 on the CPU only.
void Step::quantize() {
  const bool images = has_convolutions();
  const bool int8 = options_.precision == fixtures::Precision::kInt8;
  if (images && !(int8 && options_.device == fixtures::Device::kCpu)) return;
  RandomState random(fixtures::torch_device(options_.device));
  auto layers = std::make_unique<ops::QuantizedLayers>(
      workload_->module().parameters(), options_.precision, /*per_token=*/int8 && !images);
  LayerFinder finder(*layers);
  const c10::InferenceMode inference;
  ops::observe(
      finder, [this] { workload_->infer(inputs_.batches[0]); }, /*arguments=*/true);
  random.restore();
  quantized_ = std::move(layers);
  quantized_->begin();
}

bool Step::has_channels_last() const {
  return options_.layout == Layout::kChannelsLast && has_convolutions();
}

void Step::load(int64_t batch) {
  options_.batch = batch;
  inputs_ = workload_->batches({.batch = batch,
                                .count = kBatches,
                                .seed = batch_seed(options_),
                                .training = options_.mode == Mode::kTrain,
                                .context = options_.context,
                                .generates = options_.mode == Mode::kGenerate,
                                .source = options_.data});
  for (auto& one : inputs_.batches) {
    for (auto& tensor : one) {
      tensor = tensor.to(fixtures::torch_device(options_.device));
      if (has_channels_last()) tensor = with_channels_last(tensor);
    }
  }
}

void Step::connect_ranks() {
  reduction_ = std::make_unique<GradientReduction>(*workload_, options_.ranks);
  for (int round = 0; round < rounds(); ++round) {
    RandomState random(fixtures::torch_device(options_.device));
    forward();
    backward();
    reduction_->learn(round);
    random.restore();  // the same dropout again
    reduction_->before_forward(round);
    forward();
    reduction_->before_backward();
    backward();
    reduction_->after_backward();
    reduction_->check(round);
    update();
  }
}

int Step::rounds() const {
  return options_.mode == Mode::kTrain ? workload_->updates_per_step() : 1;
}

void Step::run_local() {
  reduces_ = false;
  run();
  reduces_ = true;
}

void Step::run(const std::function<void(Phase)>& done) {
  if (graphs_ != nullptr) {
    workload_->draw_for_replay();
    graphs_->replay(next_);
    result_ = results_[next_];
  } else {
    run_next(done);
  }
  next_ = (next_ + 1) % inputs_.batches.size();
}

void Step::run_next(const std::function<void(Phase)>& done) {
  const bool reduces = reduction_ != nullptr && reduces_;
  for (int round = 0, count = rounds(); round < count; ++round) {
    if (reduces) reduction_->before_forward(round);
    forward(done);
    if (options_.mode != Mode::kGenerate) done(Phase::kForward);
    if (options_.mode != Mode::kTrain) break;
    if (reduces) reduction_->before_backward();
    backward();
    if (reduction_ != nullptr) reduction_->after_backward();
    done(Phase::kBackward);
    update();
    done(Phase::kUpdate);
  }
}

void Step::forward(const std::function<void(Phase)>& done) {
  std::optional<Autocast> autocast;
  enable_autocast(autocast, options_.precision, fixtures::torch_device(options_.device).type());
  result_.reset();  // frees the last result before the next one is allocated
  if (options_.mode == Mode::kTrain) {
    result_ = workload_->loss(inputs_.batches[next_]);
    return;
  }
  const c10::InferenceMode inference;
  if (options_.mode == Mode::kInfer) {
    result_ = workload_->infer(inputs_.batches[next_]);
  } else {
    result_ = workload_->generate(inputs_.batches[next_], [&] { done(Phase::kPrefill); });
    done(Phase::kDecode);
  }
}

void Step::backward() {
  at::Tensor factor = loss_factor_;
  if (loss_scale_)
    factor = factor.defined() ? factor * loss_scale_->factor() : loss_scale_->factor();
  result_.backward(factor);
}

void Step::update() {
  if (loss_scale_ && !loss_scale_->unscale(workload_->module().parameters())) return;
  workload_->update();
}

void Step::capture() {
  const std::size_t count = inputs_.batches.size();
  const auto warm_up = [&] {
    for (std::size_t i = 0; i < count; ++i) {
      workload_->draw_for_replay();
      run();
    }
  };
  const auto step = [&] {
    run();
    results_.push_back(result_.detach());
  };
  next_ = 0;
  graphs_ = captured({.warm_up = warm_up, .work = step, .graphs = count});
  result_.reset();
}

bool Step::has_convolutions() const {
  const auto parameters = workload_->module().parameters();
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const at::Tensor& parameter) { return parameter.dim() == 4; });
}

int64_t Step::parameter_count() const { return models::parameter_count(workload_->module()); }

std::vector<int64_t> Step::result_shape() const {
  return options_.mode == Mode::kTrain ? std::vector<int64_t>{}
                                       : workload_->output_shape(options_.batch);
}

}  // namespace fathom::models
