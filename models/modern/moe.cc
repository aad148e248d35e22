// moe: Llama with a mixture of experts in each layer, in the sizes and with the multipliers of
// granite-3.0-1b-a400m (32 experts, of which a token takes 8; its configuration file is public).
// moe_6: its first six layers, which train in 6 GiB. The training recipe of the model is not
// public; this is that of OLMoE (Muennighoff et al. 2024, table 10).
// moe_decode: one token after 512 tokens.
#include <ATen/TensorOperators.h>

#include "models/modern/language_model.h"
#include "models/modern/llama_net.h"
#include "models/table.h"

namespace fathom::models {
namespace {

constexpr AdamWRecipe kRecipe{.rate = 4e-4, .matrix_decay = 0.1, .vector_decay = 0.1};
constexpr double kBalance = 0.01;  ///< factor of the load-balancing loss

constexpr Multipliers kGranite{
    .embedding = 12, .residual = 0.22, .attention = 1.0 / 64, .logits = 1.0 / 6};

constexpr LlamaSizes kSmall{.vocabulary = 64,
                            .layers = 2,
                            .width = 48,
                            .heads = 6,
                            .kv_heads = 2,
                            .head_width = 8,
                            .dense = 32,
                            .positions = {.count = 32, .base = 10'000},
                            .deviation = 0.1,
                            .epsilon = 1e-6,
                            .multipliers = kGranite,
                            .experts = MixtureSizes{.count = 6, .chosen = 2}};

constexpr LlamaSizes with_layers(int64_t layers) {
  return {.vocabulary = 49'155,
          .layers = layers,
          .width = 1'024,
          .heads = 16,
          .kv_heads = 8,
          .head_width = 64,
          .dense = 512,
          .positions = {.count = 4'096, .base = 10'000},
          .deviation = 0.02,
          .epsilon = 1e-6,
          .multipliers = kGranite,
          .experts = MixtureSizes{.count = 32, .chosen = 8}};
}

template <typename Net>
class MixtureModel final : public LanguageModel<Net> {
 public:
  using LanguageModel<Net>::LanguageModel;

  at::Tensor loss(const fixtures::Batch& batch) override {
    const at::Tensor predicted = LanguageModel<Net>::loss(batch);
    return predicted + kBalance * load_balancing_loss(this->net()->take_routed());
  }
};

}  // namespace

std::unique_ptr<Workload> make_moe(Scale scale) {
  return language_model<MixtureModel, LlamaNet>(scale, with_layers(24), kSmall, kRecipe);
}

std::unique_ptr<Workload> make_moe_6(Scale scale) {
  return language_model<MixtureModel, LlamaNet>(scale, with_layers(6), kSmall, kRecipe);
}

std::unique_ptr<Workload> make_moe_decode(Scale scale) {
  return language_model<Decoder, LlamaNet>(scale, with_layers(24), kSmall, kRecipe);
}

}  // namespace fathom::models
