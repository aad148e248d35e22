#pragma once

#include <string>
#include <vector>

#include "benchmarks/options/options.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// What a rank tells of itself when it joins.
struct RankFacts {
  std::string host;       ///< its name
  std::string machine;    ///< equal for ranks that share a kernel, and so CPUs
  std::string cpu;        ///< the model
  std::vector<int> cpus;  ///< of its affinity mask
  std::string build;      ///< program and LibTorch
  std::string options;
  std::string rows;  ///< a hash of their names
};

RankFacts own_facts(const Options& options, const std::vector<Row>& rows);

std::string text(const RankFacts& facts);
RankFacts read_facts(const std::string& text);

/// Why two ranks cannot run the same rows, in a sentence without a subject; empty where they can.
std::string difference(const RankFacts& rank0, const RankFacts& other);

}  // namespace fathom::benchmarks
