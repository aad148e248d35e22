#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload.h"

namespace fathom::models {

/// What a study (--fathom_study) takes of a workload. Each value includes those before it.
enum class StudyShare {
  kNothing,
  kSteps,      ///< rows of its steps, with op types and memory
  kOps,        ///< rows of its ops alone
  kStepTimes,  ///< the time of every step of its rows
};

struct Studies {
  StudyShare brief = StudyShare::kNothing;  ///< --fathom_study=short
  StudyShare full = StudyShare::kNothing;
};

/// A workload and the facts that its users quote. Tests hold the built network to them.
struct WorkloadRow {
  std::string_view name;
  std::string_view variant_of = {};  ///< the workload whose variant it is; empty for none
  std::string_view paper;
  std::string_view dataset;
  int64_t batch;            ///< Fathom's
  int64_t infer_batch = 0;  ///< where inference takes another; 0: the same
  int64_t parameters;       ///< trainable
  int64_t macs;             ///< forward, one sample, padding counted as the papers do
  int64_t infer_macs = 0;   ///< where inference takes others; 0: the same
  int64_t unseen_macs = 0;  ///< of them, what no convolution or matrix product makes
  std::string_view optimizer;
  int optimizer_slots = 0;  ///< numbers that it keeps beside each parameter
  Studies studies = {};
  std::unique_ptr<Workload> (*make)(Scale scale);
};

/// Every workload; a new one is its own .cc and a row.
const std::vector<WorkloadRow>& workloads();

/// The row called `name`; throws std::out_of_range.
const WorkloadRow& workload(std::string_view name);

/// The table as Markdown, as the README shows it.
std::string workloads_markdown();

}  // namespace fathom::models
