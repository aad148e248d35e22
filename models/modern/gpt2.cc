// gpt2: Radford, Wu, Child, Luan, Amodei and Sutskever, "Language Models are Unsupervised Multitask
// Learners", 2019: the smallest model, 12 layers of 768 units, trained as by nanoGPT: AdamW without
// decay of vectors, no dropout.
// gpt2_1024: the same network on its longest sequences.
// gpt2_decode: one token after 512 tokens.
#include "models/modern/gpt2_net.h"
#include "models/modern/language_model.h"
#include "models/table.h"

namespace fathom::models {
namespace {

constexpr AdamWRecipe kRecipe{.rate = 6e-4, .matrix_decay = 0.1, .vector_decay = 0};

template <template <typename> typename Model>
std::unique_ptr<Workload> made(Scale scale, int64_t tokens) {
  constexpr int64_t kShrink = 32;  // of the small sequences
  const bool full = scale == Scale::kFull;
  const Gpt2Sizes sizes =
      full ? Gpt2Sizes{.vocabulary = 50'257,
                       .positions = 1'024,
                       .layers = 12,
                       .heads = 12,
                       .width = 768}
           : Gpt2Sizes{.vocabulary = 64, .positions = 32, .layers = 2, .heads = 4, .width = 32};
  SequenceLengths lengths{tokens, tokens};
  if (!full)
    lengths = {tokens / kShrink, tokens / kShrink, kSmallLengths.prompt, kSmallLengths.generated};
  return std::make_unique<Model<Gpt2Net>>(Gpt2Net(sizes), sizes.vocabulary, lengths, kRecipe);
}

}  // namespace

std::unique_ptr<Workload> make_gpt2(Scale scale) { return made<LanguageModel>(scale, 256); }

std::unique_ptr<Workload> make_gpt2_1024(Scale scale) { return made<LanguageModel>(scale, 1'024); }

std::unique_ptr<Workload> make_gpt2_decode(Scale scale) { return made<Decoder>(scale, 512); }

}  // namespace fathom::models
