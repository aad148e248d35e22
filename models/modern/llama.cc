// llama: the network of Touvron et al., "LLaMA: Open and Efficient Foundation Language Models",
// 2023, with grouped keys as in Llama 2 and 3 (Dubey et al. 2024, section 3.2), in the sizes of
// SmolLM2-135M, whose pre-training configuration is public
// (huggingface/smollm, text/pretraining/smollm2/config_smollm2_135M.yaml).
// llama_1b: in those of Llama-3.2-1B. No recipe of its training is published.
// llama_decode, llama_1b_decode: one token after 512 tokens.
// llama_ragged_decode: one token after sequences of different lengths in a padded cache.
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>

#include "models/modern/language_model.h"
#include "models/modern/llama_net.h"
#include "models/table.h"
#include "ops/kernels/decode_attention.h"

namespace fathom::models {
namespace {

constexpr AdamWRecipe kRecipe{.rate = 3e-3, .matrix_decay = 0.01, .vector_decay = 0.01};

constexpr LlamaSizes kSmall{.vocabulary = 64,
                            .layers = 2,
                            .width = 48,
                            .heads = 6,
                            .kv_heads = 2,
                            .head_width = 8,
                            .dense = 96,
                            .positions = {.count = 32, .base = 10'000},
                            .deviation = 0.1};

constexpr LlamaSizes kSmolLm2{.vocabulary = 49'152,
                              .layers = 30,
                              .width = 576,
                              .heads = 9,
                              .kv_heads = 3,
                              .head_width = 64,
                              .dense = 1'536,
                              .positions = {.count = 8'192, .base = 100'000},
                              .deviation = 1.0 / 24};  // 1 / sqrt(width)

constexpr LlamaSizes kLlama32{
    .vocabulary = 128'256,
    .layers = 16,
    .width = 2'048,
    .heads = 32,
    .kv_heads = 8,
    .head_width = 64,
    .dense = 8'192,
    .positions = {.count = 8'192,
                  .base = 500'000,
                  .scaling = RotaryScaling{.factor = 32, .low = 1, .high = 4, .positions = 8'192}}};

/// Decodes one token after sequences of different lengths, the last tokens of those of its batches.
/// The cache is padded to the longest; sequences end together, and a mask hides the padding.
template <typename Net>
class RaggedDecoder final : public Decoder<Net> {
 public:
  using Decoder<Net>::Decoder;

  void prepare_inference(const fixtures::Batch& batch) override {
    const at::Tensor& tokens = batch[fixtures::kTokens];
    const int64_t longest = tokens.size(1);
    KeyValueCache padded;
    for (int64_t n = 0; n < tokens.size(0); ++n) {
      const int64_t length = ragged_length(n, longest);
      lengths_.push_back(length + 1);
      const int64_t padding = longest - length;
      KeyValueCache own;
      this->net()->forward(tokens.narrow(0, n, 1).slice(1, padding), &own, padding);
      padded.resize(own.size());
      for (std::size_t layer = 0; layer < own.size(); ++layer) {
        copy_to_end(own[layer].keys, padded[layer].keys, tokens.size(0), n, longest);
        copy_to_end(own[layer].values, padded[layer].values, tokens.size(0), n, longest);
      }
    }
    this->keep(std::move(padded));
    shown_ = ops::mask_of_lengths(lengths_, longest + 1).to(tokens.device());
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    const at::Tensor state = this->net()->decode(batch.back(), this->cache(), shown_);
    return this->net()->logits(state.select(1, -1));
  }

  /// The sequences' part of the cache.
  std::optional<BytesRead> infer_bytes() const override {
    auto bytes = Decoder<Net>::infer_bytes();
    bytes->cache *= shown_.to(at::kDouble).mean().template item<double>();
    return bytes;
  }

 private:
  /// 1/32, 1/8, 1/4 and all of `longest`, in turn.
  static int64_t ragged_length(int64_t n, int64_t longest) {
    constexpr std::array<int64_t, 4> kParts{32, 8, 4, 1};
    return std::max<int64_t>(longest / kParts[static_cast<std::size_t>(n) % kParts.size()], 1);
  }

  /// Copies what a layer keeps of sequence n, [1, G, S, D], to its place in `padded`
  /// [N, G, longest, D], which this makes for the first one.
  static void copy_to_end(const at::Tensor& own, at::Tensor& padded, int64_t sequences, int64_t n,
                          int64_t longest) {
    if (!padded.defined())
      padded = at::zeros({sequences, own.size(1), longest, own.size(3)}, own.options());
    padded.select(0, n).slice(1, longest - own.size(2)).copy_(own[0]);
  }

  std::vector<int64_t> lengths_;  ///< with the token that is decoded
  at::Tensor shown_;              ///< the mask
};

}  // namespace

std::unique_ptr<Workload> make_llama(Scale scale) {
  return language_model<LanguageModel, LlamaNet>(scale, kSmolLm2, kSmall, kRecipe);
}

std::unique_ptr<Workload> make_llama_decode(Scale scale) {
  return language_model<Decoder, LlamaNet>(scale, kSmolLm2, kSmall, kRecipe);
}

std::unique_ptr<Workload> make_llama_ragged_decode(Scale scale) {
  return language_model<RaggedDecoder, LlamaNet>(scale, kSmolLm2, kSmall, kRecipe,
                                                 {.training = 256, .inference = 4'096});
}

std::unique_ptr<Workload> make_llama_1b(Scale scale) {
  return language_model<LanguageModel, LlamaNet>(scale, kLlama32, kSmall, kRecipe);
}

std::unique_ptr<Workload> make_llama_1b_decode(Scale scale) {
  return language_model<Decoder, LlamaNet>(scale, kLlama32, kSmall, kRecipe);
}

}  // namespace fathom::models
