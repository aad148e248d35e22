// mamba: the network of Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State
// Spaces", 2023, in the sizes of the published mamba-130m. It trains with the recipe of GPT-3 at
// five times the rate (section 4.2).
// mamba_decode: one token after 512 tokens.
#include "models/modern/language_model.h"
#include "models/modern/mamba_net.h"
#include "models/table.h"

namespace fathom::models {
namespace {

constexpr AdamWRecipe kRecipe{
    .rate = 3e-3, .matrix_decay = 0.1, .vector_decay = 0, .not_decayed = "log_rates"};

constexpr MambaSizes kSmall{
    .vocabulary = 64, .layers = 2, .width = 24, .inner = 40, .states = 4, .taps = 4, .rank = 3};

constexpr MambaSizes kMamba130m{.vocabulary = 50'280,
                                .layers = 24,
                                .width = 768,
                                .inner = 1'536,
                                .states = 16,
                                .taps = 4,
                                .rank = 48};

}  // namespace

std::unique_ptr<Workload> make_mamba(Scale scale) {
  return language_model<LanguageModel, MambaNet>(scale, kMamba130m, kSmall, kRecipe);
}

std::unique_ptr<Workload> make_mamba_decode(Scale scale) {
  return language_model<Decoder, MambaNet>(scale, kMamba130m, kSmall, kRecipe);
}

}  // namespace fathom::models
