// llama: the network of Touvron et al., "LLaMA: Open and Efficient Foundation Language Models",
// 2023, with grouped keys as in Llama 2 and 3 (Dubey et al. 2024, section 3.2), in the sizes of
// SmolLM2-135M, whose pre-training configuration is public
// (huggingface/smollm, text/pretraining/smollm2/config_smollm2_135M.yaml).
// llama_1b: in those of Llama-3.2-1B. No recipe of its training is published.
// llama_decode, llama_1b_decode: one token after 512 tokens.
#include "models/modern/language_model.h"
#include "models/modern/llama_net.h"
#include "models/table.h"

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

}  // namespace

std::unique_ptr<Workload> make_llama(Scale scale) {
  return language_model<LanguageModel, LlamaNet>(scale, kSmolLm2, kSmall, kRecipe);
}

std::unique_ptr<Workload> make_llama_decode(Scale scale) {
  return language_model<Decoder, LlamaNet>(scale, kSmolLm2, kSmall, kRecipe);
}

std::unique_ptr<Workload> make_llama_1b(Scale scale) {
  return language_model<LanguageModel, LlamaNet>(scale, kLlama32, kSmall, kRecipe);
}

std::unique_ptr<Workload> make_llama_1b_decode(Scale scale) {
  return language_model<Decoder, LlamaNet>(scale, kLlama32, kSmall, kRecipe);
}

}  // namespace fathom::models
