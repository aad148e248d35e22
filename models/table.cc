#include "models/table.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "ops/types/shapes.h"

namespace fathom::models {

// Defined in <suite>/<workload>.cc.
std::unique_ptr<Workload> make_a3c(Scale scale);
std::unique_ptr<Workload> make_alexnet(Scale scale);
std::unique_ptr<Workload> make_alexnet_repo(Scale scale);
std::unique_ptr<Workload> make_autoenc(Scale scale);
std::unique_ptr<Workload> make_autoenc_kingma(Scale scale);
std::unique_ptr<Workload> make_deepq(Scale scale);
std::unique_ptr<Workload> make_deepq_2013(Scale scale);
std::unique_ptr<Workload> make_deepspeech2(Scale scale);
std::unique_ptr<Workload> make_faster_rcnn(Scale scale);
std::unique_ptr<Workload> make_gpt2(Scale scale);
std::unique_ptr<Workload> make_gpt2_1024(Scale scale);
std::unique_ptr<Workload> make_gpt2_decode(Scale scale);
std::unique_ptr<Workload> make_inception_v3(Scale scale);
std::unique_ptr<Workload> make_llama(Scale scale);
std::unique_ptr<Workload> make_llama_1b(Scale scale);
std::unique_ptr<Workload> make_llama_1b_decode(Scale scale);
std::unique_ptr<Workload> make_llama_decode(Scale scale);
std::unique_ptr<Workload> make_llama_ragged_decode(Scale scale);
std::unique_ptr<Workload> make_mamba(Scale scale);
std::unique_ptr<Workload> make_mamba_decode(Scale scale);
std::unique_ptr<Workload> make_memnet(Scale scale);
std::unique_ptr<Workload> make_moe(Scale scale);
std::unique_ptr<Workload> make_moe_6(Scale scale);
std::unique_ptr<Workload> make_moe_decode(Scale scale);
std::unique_ptr<Workload> make_nmt(Scale scale);
std::unique_ptr<Workload> make_residual(Scale scale);
std::unique_ptr<Workload> make_residual_repo(Scale scale);
std::unique_ptr<Workload> make_resnet50(Scale scale);
std::unique_ptr<Workload> make_seq2seq(Scale scale);
std::unique_ptr<Workload> make_seq2seq_5x10(Scale scale);
std::unique_ptr<Workload> make_seq2seq_10x15(Scale scale);
std::unique_ptr<Workload> make_seq2seq_20x25(Scale scale);
std::unique_ptr<Workload> make_speech(Scale scale);
std::unique_ptr<Workload> make_speech_150(Scale scale);
std::unique_ptr<Workload> make_speech_repo(Scale scale);
std::unique_ptr<Workload> make_transformer(Scale scale);
std::unique_ptr<Workload> make_vgg(Scale scale);
std::unique_ptr<Workload> make_vgg_repo(Scale scale);
std::unique_ptr<Workload> make_wgan(Scale scale);

namespace {

/// As in "1,234,567".
std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::deque<WorkloadRow>& all_workloads() {
  static std::deque<WorkloadRow> rows{
      {.name = "seq2seq",
       .paper = "translation, Sutskever et al. 2014, with attention, 40 and 50 positions",
       .dataset = "WMT-15",
       .batch = 64,
       .parameters = 34'633'792,
       .macs = 184'537'600,
       .infer_macs = 696'537'600,
       .optimizer = "SGD 0.5, plateau 0.99, norm 5",
       .make = make_seq2seq},
      {.name = "memnet",
       .paper = "memory network, Sukhbaatar et al. 2015, 3 hops",
       .dataset = "bAbI",
       .batch = 32,
       .parameters = 1'800,
       .macs = 4'120,
       .sums_loss = true,
       .other_macs = 1'320,  // position encoding
       .optimizer = "Adam 0.01, clip 40, noise 0.001",
       .optimizer_slots = 2,
       .make = make_memnet},
      {.name = "speech",
       .paper = "Deep Speech, Hannun et al. 2014, 1566 frames",
       .dataset = "TIMIT",
       .batch = 32,
       .parameters = 25'356'350,
       .macs = 39'691'911'168,
       .other_macs = 8'388'608,  // recurrent product of the first frame, which is skipped
       .optimizer = "SGD 0.01, norm 5",
       .make = make_speech},
      {.name = "autoenc",
       .paper = "variational auto-encoder, Kingma & Welling 2013, linear",
       .dataset = "MNIST",
       .batch = 128,
       .parameters = 471'584,
       .macs = 470'400,
       .sums_loss = true,
       .optimizer = "Adam 0.001",
       .optimizer_slots = 2,
       .make = make_autoenc},
      {.name = "residual",
       .paper = "ResNet-34, He et al. 2015, option B",
       .dataset = "ImageNet",
       .batch = 16,
       .parameters = 21'797'672,
       .macs = 3'663'761'408,
       .optimizer = "SGD 0.1, momentum 0.9, weight decay 1e-4",
       .optimizer_slots = 1,
       .make = make_residual},
      {.name = "vgg",
       .paper = "VGG-19, Simonyan & Zisserman 2014, configuration E",
       .dataset = "ImageNet",
       .batch = 8,
       .parameters = 143'667'240,
       .macs = 19'632'062'464,
       .optimizer = "SGD 3.125e-4, momentum 0.9, weight decay 5e-4",
       .optimizer_slots = 1,
       .make = make_vgg},
      {.name = "alexnet",
       .paper = "AlexNet, Krizhevsky et al. 2012, two groups",
       .dataset = "ImageNet",
       .batch = 64,
       .parameters = 60'965'224,
       .macs = 724'406'816,
       .optimizer = "SGD 0.01, momentum 0.9, weight decay 5e-4",
       .optimizer_slots = 1,
       .make = make_alexnet},
      {.name = "deepq",
       .paper = "Q-network, Mnih et al. 2015",
       .dataset = "Atari",
       .batch = 32,
       .infer_batch = 1,
       .parameters = 1'686'180,
       .macs = 9'345'024,
       .sums_loss = true,
       .optimizer = "RMSProp 2.5e-4, decay 0.95",
       .optimizer_slots = 1,
       .make = make_deepq},
      {.name = "resnet50",
       .paper = "ResNet-50, He et al. 2015, stride in the 3 x 3 convolutions",
       .dataset = "ImageNet",
       .batch = 32,
       .parameters = 25'557'032,
       .macs = 4'089'184'256,
       .optimizer = "SGD 0.0125, momentum 0.9, weight decay 1e-4",
       .optimizer_slots = 1,
       .make = make_resnet50},
      {.name = "inception_v3",
       .paper = "Inception-v3, Szegedy et al. 2016, auxiliary classifier in training",
       .dataset = "ImageNet",
       .batch = 32,
       .parameters = 27'161'264,
       .macs = 5'718'899'296,
       .infer_macs = 5'713'216'096,
       .optimizer = "SGD 0.0125, momentum 0.9, weight decay 1e-4",
       .optimizer_slots = 1,
       .make = make_inception_v3},
      {.name = "nmt",
       .paper = "TensorFlow NMT, Bahdanau et al. 2015, 30 and 30 positions",
       .dataset = "IWSLT15",
       .batch = 128,
       .content = {"tokens_per_second", 30},
       .parameters = 27'190'272,
       .macs = 433'904'640,
       .optimizer = "Adam 3e-4, norm 1",
       .optimizer_slots = 2,
       .make = make_nmt},
      {.name = "transformer",
       .paper = "Transformer, Vaswani et al. 2017, base model, 32 + 32 positions",
       .dataset = "WMT-14",
       .batch = 64,
       .content = {"tokens_per_second", 32},
       .parameters = 63'084'544,
       .macs = 2'034'368'512,
       .infer_macs = 2'031'321'088,
       .optimizer = "Adam 0.088 / sqrt(step), beta 0.9 and 0.98, warm-up 16,000",
       .optimizer_slots = 2,
       .make = make_transformer},
      {.name = "wgan",
       .paper = "WGAN-GP, Gulrajani et al. 2017, residual networks",
       .dataset = "ImageNet 64x64",
       .batch = 16,
       .parameters = 16'032'324,
       .macs = 3'483'901'952,
       .infer_macs = 1'786'511'360,
       .step_macs = 37'877'317'632,
       .optimizer = "Adam 1e-4, beta 0 and 0.9",
       .optimizer_slots = 2,
       .make = make_wgan},
      {.name = "faster_rcnn",
       .paper = "Faster R-CNN, Ren et al. 2015, ResNet-101 C4, 128 regions",
       .dataset = "VOC2007",
       .batch = 1,
       .parameters = 47'129'750,
       .macs = 180'380'514'304,
       .infer_macs = 319'606'528'000,
       .quantizes = false,  // frozen normalisations scale the filters
       .optimizer = "SGD 0.001, momentum 0.9, weight decay 5e-4",
       .optimizer_slots = 1,
       .make = make_faster_rcnn},
      {.name = "a3c",
       .paper = "advantage actor-critic, Mnih et al. 2016, 5 steps of each environment",
       .dataset = "Atari",
       .batch = 32,
       .train_items = 5,  // steps
       .parameters = 677'943,
       .macs = 17'803'776,
       .infer_macs = 2'967'296,
       .optimizer = "RMSProp 7e-4, decay 0.99, norm 40",
       .optimizer_slots = 1,
       .make = make_a3c},
      {.name = "deepspeech2",
       .paper = "Deep Speech 2, Amodei et al. 2015, 5 GRU layers, 1300 frames",
       .dataset = "LibriSpeech",
       .batch = 4,
       .content = {"audio_seconds_per_second", 13},
       .parameters = 38'115'968,
       .macs = 27'730'729'280,
       .optimizer = "SGD 3e-4, Nesterov momentum 0.9, norm 400",
       .optimizer_slots = 1,
       .make = make_deepspeech2},
      {.name = "gpt2",
       .paper = "GPT-2, Radford et al. 2019, 12 layers, 256 tokens",
       .dataset = "token ids",
       .batch = 4,
       .content = {.rate = "tokens_per_second", .per_item = 256},
       .context = {.tokens = 256, .positions = 1'024, .generates = true},
       .parameters = 124'439'808,
       .macs = 32'832'159'744,
       .infer_macs = 22'989'828'864,
       .optimizer = "AdamW 6e-4, beta 0.9 and 0.95, weight decay 0.1, norm 1",
       .optimizer_slots = 2,
       .make = make_gpt2},
      {.name = "llama",
       .paper = "Llama, Touvron et al. 2023, as SmolLM2-135M, 256 tokens, inference 512",
       .dataset = "token ids",
       .batch = 4,
       .infer_batch = 1,
       .content = {.rate = "tokens_per_second", .per_item = 256},
       .context = {.tokens = 512, .positions = 8'192, .generates = true},
       .parameters = 134'515'008,
       .macs = 36'691'771'392,
       .infer_macs = 63'446'188'032,
       .optimizer = "AdamW 3e-3, beta 0.9 and 0.95, weight decay 0.01, norm 1",
       .optimizer_slots = 2,
       .make = make_llama},
      {.name = "moe",
       .paper = "mixture of experts, as granite-3.0-1b-a400m, 512 tokens",
       .dataset = "token ids",
       .batch = 1,
       .content = {.rate = "tokens_per_second", .per_item = 512},
       .context = {.tokens = 512, .positions = 4'096, .generates = true},
       .parameters = 1'334'628'352,
       .macs = 206'611'418'112,
       .trains = false,
       .optimizer = "none",
       .make = make_moe},
      {.name = "mamba",
       .paper = "Mamba, Gu and Dao 2023, as mamba-130m, 256 tokens, inference 512",
       .dataset = "token ids",
       .batch = 4,
       .infer_batch = 1,
       .content = {.rate = "tokens_per_second", .per_item = 256},
       .context = {.tokens = 512, .generates = true},
       .parameters = 129'135'360,
       .macs = 33'025'867'776,
       .infer_macs = 46'319'007'744,
       .optimizer = "AdamW 3e-3, beta 0.9 and 0.95, weight decay 0.1, norm 1",
       .optimizer_slots = 2,
       .make = make_mamba},
      {.name = "seq2seq_5x10",
       .variant_of = "seq2seq",
       .paper = "the same network, 5 and 10 positions",
       .dataset = "WMT-15",
       .batch = 64,
       .parameters = 34'633'792,
       .macs = 31'813'120,
       .infer_macs = 134'213'120,
       .optimizer = "SGD 0.5, plateau 0.99, norm 5",
       .make = make_seq2seq_5x10},
      {.name = "seq2seq_10x15",
       .variant_of = "seq2seq",
       .paper = "the same network, 10 and 15 positions",
       .dataset = "WMT-15",
       .batch = 64,
       .parameters = 34'633'792,
       .macs = 51'854'080,
       .infer_macs = 205'454'080,
       .optimizer = "SGD 0.5, plateau 0.99, norm 5",
       .make = make_seq2seq_10x15},
      {.name = "seq2seq_20x25",
       .variant_of = "seq2seq",
       .paper = "the same network, 20 and 25 positions",
       .dataset = "WMT-15",
       .batch = 64,
       .parameters = 34'633'792,
       .macs = 92'012'800,
       .infer_macs = 348'012'800,
       .optimizer = "SGD 0.5, plateau 0.99, norm 5",
       .make = make_seq2seq_20x25},
      {.name = "speech_150",
       .variant_of = "speech",
       .paper = "the same network, 150 frames",
       .dataset = "TIMIT",
       .batch = 32,
       .parameters = 25'356'350,
       .macs = 3'801'907'200,
       .other_macs = 8'388'608,
       .optimizer = "SGD 0.01, norm 5",
       .make = make_speech_150},
      {.name = "gpt2_1024",
       .variant_of = "gpt2",
       .paper = "the same network, 1024 tokens",
       .dataset = "token ids",
       .batch = 4,
       .content = {.rate = "tokens_per_second", .per_item = 1'024},
       .context = {.tokens = 1'024, .positions = 1'024},
       .parameters = 124'439'808,
       .macs = 145'824'153'600,
       .infer_macs = 106'339'037'952,
       .optimizer = "AdamW 6e-4, beta 0.9 and 0.95, weight decay 0.1, norm 1",
       .optimizer_slots = 2,
       .make = make_gpt2_1024},
      {.name = "gpt2_decode",
       .variant_of = "gpt2",
       .paper = "the same network, one token after 512 in a cache",
       .dataset = "token ids",
       .batch = 4,
       .content = {"tokens_per_second", 1},
       .context = {.tokens = 512, .positions = 1'024, .decodes = true},
       .parameters = 124'439'808,
       .macs = 132'987'648,
       .trains = false,
       .counts_bytes = true,
       .optimizer = "none",
       .make = make_gpt2_decode},
      {.name = "llama_decode",
       .variant_of = "llama",
       .paper = "the same network, one token after 512 in a cache",
       .dataset = "token ids",
       .batch = 4,
       .content = {"tokens_per_second", 1},
       .context = {.tokens = 512, .positions = 8'192, .decodes = true},
       .parameters = 134'515'008,
       .macs = 152'209'152,
       .trains = false,
       .counts_bytes = true,
       .optimizer = "none",
       .make = make_llama_decode},
      {.name = "llama_ragged_decode",
       .variant_of = "llama",
       .paper = "the same network, one token after 128 to 4,096 in a padded cache",
       .dataset = "token ids",
       .batch = 4,
       .content = {"tokens_per_second", 1},
       .context = {.tokens = 4'096, .positions = 8'192, .decodes = true},
       .parameters = 134'515'008,
       .macs = 276'072'192,
       .trains = false,
       .counts_bytes = true,
       .optimizer = "none",
       .make = make_llama_ragged_decode},
      {.name = "llama_1b",
       .variant_of = "llama",
       .paper = "Llama-3.2-1B, 512 tokens",
       .dataset = "token ids",
       .batch = 1,
       .content = {.rate = "tokens_per_second", .per_item = 512},
       .context = {.tokens = 512, .positions = 8'192, .generates = true},
       .parameters = 1'235'814'400,
       .macs = 515'658'743'808,
       .trains = false,
       .optimizer = "none",
       .make = make_llama_1b},
      {.name = "llama_1b_decode",
       .variant_of = "llama",
       .paper = "Llama-3.2-1B, one token after 512 in a cache",
       .dataset = "token ids",
       .batch = 1,
       .content = {"tokens_per_second", 1},
       .context = {.tokens = 512, .positions = 8'192, .decodes = true},
       .parameters = 1'235'814'400,
       .macs = 1'269'366'784,
       .trains = false,
       .counts_bytes = true,
       .optimizer = "none",
       .make = make_llama_1b_decode},
      {.name = "moe_6",
       .variant_of = "moe",
       .paper = "its first six layers, 256 tokens",
       .dataset = "token ids",
       .batch = 4,
       .content = {"tokens_per_second", 256},
       .parameters = 371'408'896,
       .macs = 37'900'517'376,
       .infers = false,
       .optimizer = "AdamW 4e-4, beta 0.9 and 0.95, weight decay 0.1, norm 1",
       .optimizer_slots = 2,
       .make = make_moe_6},
      {.name = "moe_decode",
       .variant_of = "moe",
       .paper = "the same network, one token after 512 in a cache",
       .dataset = "token ids",
       .batch = 1,
       .content = {"tokens_per_second", 1},
       .context = {.tokens = 512, .positions = 4'096, .decodes = true},
       .parameters = 1'334'628'352,
       .macs = 453'823'488,
       .trains = false,
       .counts_bytes = true,
       .optimizer = "none",
       .make = make_moe_decode},
      {.name = "mamba_decode",
       .variant_of = "mamba",
       .paper = "the same network, one token after 512",
       .dataset = "token ids",
       .batch = 4,
       .content = {"tokens_per_second", 1},
       .context = {.tokens = 512, .decodes = true},
       .parameters = 129'135'360,
       .macs = 129'005'568,
       .trains = false,
       .counts_bytes = true,
       .optimizer = "none",
       .make = make_mamba_decode},
      {.name = "autoenc_kingma",
       .variant_of = "autoenc",
       .paper = "the same paper's own network, 500 hidden units",
       .dataset = "MNIST",
       .batch = 100,
       .parameters = 815'824,
       .macs = 814'000,
       .optimizer = "Adagrad 0.01, weight decay 1/60,000",
       .optimizer_slots = 1,
       .make = make_autoenc_kingma},
      {.name = "deepq_2013",
       .variant_of = "deepq",
       .paper = "Q-network, Mnih et al. 2013",
       .dataset = "Atari",
       .batch = 32,
       .infer_batch = 1,
       .parameters = 677'172,
       .macs = 2'966'528,
       .sums_loss = true,
       .optimizer = "RMSProp 2.5e-4, decay 0.95",
       .optimizer_slots = 1,
       .make = make_deepq_2013},
      {.name = "speech_repo",
       .variant_of = "speech",
       .paper = "Fathom's released code: dense layers of 1024 only",
       .dataset = "TIMIT",
       .batch = 32,
       .parameters = 2'190'398,
       .macs = 3'425'255'424,
       .optimizer = "SGD 0.01, norm 5",
       .make = make_speech_repo},
      {.name = "residual_repo",
       .variant_of = "residual",
       .paper = "Fathom's released code: 42 layers, no batch norm",
       .dataset = "ImageNet",
       .batch = 16,
       .parameters = 6'178'624,
       .macs = 16'223'527'936,
       .optimizer = "Adam 0.01",
       .optimizer_slots = 2,
       .make = make_residual_repo},
      {.name = "vgg_repo",
       .variant_of = "vgg",
       .paper = "Fathom's released code: 15 layers",
       .dataset = "ImageNet",
       .batch = 8,
       .parameters = 137'771'561,
       .macs = 13'620'580'352,
       .optimizer = "Adam 1e-4",
       .optimizer_slots = 2,
       .make = make_vgg_repo},
      {.name = "alexnet_repo",
       .variant_of = "alexnet",
       .paper = "Fathom's released code: one tower",
       .dataset = "ImageNet",
       .batch = 64,
       .parameters = 61'104'937,
       .macs = 716'771'328,
       .optimizer = "Adam 0.001",
       .optimizer_slots = 2,
       .make = make_alexnet_repo},
  };
  return rows;
}

}  // namespace

const std::deque<WorkloadRow>& workloads() { return all_workloads(); }

void add_workload(WorkloadRow row) { all_workloads().push_back(std::move(row)); }

std::string_view shapes_text(const WorkloadRow& row) {
  return is_exported(row) ? std::string_view(row.shapes) : ops::embedded_text(row.name);
}

const WorkloadRow& workload(std::string_view name) {
  const auto& rows = workloads();
  const auto match =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  if (match == rows.end()) throw std::out_of_range("no workload is called " + std::string(name));
  return *match;
}

int64_t own_context(const WorkloadRow& row, Mode mode) {
  if (mode == Mode::kTrain) return 0;
  return mode == Mode::kGenerate ? kPromptTokens : row.context.tokens;
}

int64_t longest_context(const WorkloadRow& row, Mode mode) {
  if (mode == Mode::kTrain) return 0;
  const int64_t decoded = mode == Mode::kGenerate ? kGeneratedTokens : row.context.decodes ? 1 : 0;
  return std::max<int64_t>(row.context.positions - decoded, 0);
}

double content_of_item(const WorkloadRow& row, Mode mode, int64_t context) {
  if (mode == Mode::kGenerate) return static_cast<double>(kGeneratedTokens);
  return reads_prompt(row, mode) ? static_cast<double>(context) : row.content.per_item;
}

std::vector<Mode> modes(const WorkloadRow& row) {
  std::vector<Mode> all;
  if (row.trains) all.push_back(Mode::kTrain);
  if (row.infers) all.push_back(Mode::kInfer);
  if (row.context.generates) all.push_back(Mode::kGenerate);
  return all;
}

std::string workloads_markdown() {
  std::ostringstream table;
  table << "| workload | paper | data set | batch | parameters | MACs, forward, a sample | "
           "optimizer |\n"
        << "|---|---|---|--:|--:|--:|---|\n";
  for (const auto& row : workloads()) {
    table << "| " << row.name << " | " << row.paper << " | " << row.dataset << " | " << row.batch
          << (row.infer_batch > 0 ? " / " + std::to_string(row.infer_batch) : "") << " | "
          << grouped(row.parameters) << " | " << grouped(row.macs)
          << (row.infer_macs > 0 ? " / " + grouped(row.infer_macs) : "")
          << (row.step_macs > 0 ? "; " + grouped(row.step_macs) + " in a training step" : "")
          << " | " << row.optimizer << " |\n";
  }
  return table.str();
}

}  // namespace fathom::models
