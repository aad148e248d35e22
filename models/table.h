#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/machine/device.h"
#include "models/batch_range.h"
#include "models/mode.h"
#include "models/workload.h"

namespace fathom::models {

/// What a sample holds, for a rate beside items_per_second.
struct Content {
  std::string_view rate = {};  ///< name of the counter; empty: none
  double per_item = 0;         ///< except of prompts
};

/// What a generation step reads and decodes.
inline constexpr int64_t kPromptTokens = 512;
inline constexpr int64_t kGeneratedTokens = 128;

/// The tokens that a language model's inference reads as a prompt or has in its cache.
struct Context {
  int64_t tokens = 0;      ///< where --fathom_context gives none; 0: the workload has no context
  int64_t positions = 0;   ///< for these and the decoded tokens; 0: no limit
  bool decodes = false;    ///< inference decodes one token; else it reads a prompt
  bool generates = false;  ///< whether a step of generation is measured
};

struct WorkloadRow;

/// What a package of AOTInductor was compiled for.
struct Compilation {
  fixtures::Device device;
  int threads = 0;                  ///< on a CPU; 0: any number
  const WorkloadRow* of = nullptr;  ///< the exported network; null: not given
};

/// A workload and its published numbers. Tests compare the network with them. Of a network from a
/// file, the numbers are those of the file.
struct WorkloadRow {
  std::string name;
  std::string variant_of = {};  ///< name of the original workload; empty for an original
  std::string paper;
  std::string dataset;
  int64_t batch;            ///< default batch size
  BatchRange batches = {};  ///< those that the network takes
  int64_t infer_batch = 0;  ///< batch size for inference; 0: the same
  int64_t train_items = 1;  ///< of a sample in training, for items_per_second
  Content content = {};
  Context context = {};
  int64_t parameters;  ///< number of trainable parameters
  int64_t macs;  ///< forward pass of the first update, one sample, with padding as in the papers
  int64_t infer_macs = 0;     ///< for inference; 0: the same
  bool trains = true;         ///< false: only its inference is measured
  bool infers = true;         ///< false: only its training is measured
  bool quantizes = true;      ///< false: it computes its filters in each step, so none has codes
  bool sums_loss = false;     ///< over the batch; else the loss is a mean
  bool counts_bytes = false;  ///< whether Workload::infer_bytes() knows what its inference reads
  int64_t step_macs = 0;      ///< forward passes of all updates of a training step; 0: one update
  int64_t other_macs = 0;     ///< those of `macs` outside convolutions and matrix products
  std::string optimizer = {};
  int optimizer_slots = 0;                   ///< state values for each parameter
  std::optional<Compilation> compiled = {};  ///< of a package of AOTInductor
  std::string shapes = {};  ///< its shapes file (ops/types/shapes.h); empty: a built-in one or none
  std::function<std::unique_ptr<Workload>(Scale scale)> make;
};

/// All workloads. To add one, write its .cc file and add a row.
const std::deque<WorkloadRow>& workloads();

/// Whether the row is that of a user's network which is not compiled.
inline bool is_exported(const WorkloadRow& row) { return !row.shapes.empty(); }

/// Adds the workload of a user's network. References to the other rows stay valid.
void add_workload(WorkloadRow row);

/// The text of the workload's shapes file, recorded or built in; empty where there is none.
std::string_view shapes_text(const WorkloadRow& row);

/// The row called `name`. Throws std::out_of_range if there is none.
const WorkloadRow& workload(std::string_view name);

/// The context of a mode where --fathom_context gives none; 0: a mode without a context.
int64_t own_context(const WorkloadRow& row, Mode mode);
/// The longest one; 0: no limit, or a mode without a context.
int64_t longest_context(const WorkloadRow& row, Mode mode);
/// Whether a step is one of inference that reads a language model's prompt.
inline bool reads_prompt(const WorkloadRow& row, Mode mode) {
  return mode == Mode::kInfer && row.context.tokens > 0 && !row.context.decodes;
}
/// What a sample holds of WorkloadRow::content in a step of `context` tokens.
double content_of_item(const WorkloadRow& row, Mode mode, int64_t context);

/// The modes whose steps are measured.
std::vector<Mode> modes(const WorkloadRow& row);

/// The table of workloads in Markdown, as in docs/workloads.md.
std::string workloads_markdown();

}  // namespace fathom::models
