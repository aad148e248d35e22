#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fathom::benchmarks {

/// What rank 0 tells the others to do. They answer all but the last three.
enum class Order {
  kBuild,        ///< connect the ranks of the row and build its task
  kSteps,        ///< run `number` steps
  kLocalSteps,   ///< run `number` steps without communication; the answer is their median, in
                 ///< seconds
  kCheck,        ///< check the result of the first step
  kCheckFinite,  ///< check that the last result is finite
  kCheckRanks,   ///< check that all ranks hold the same
  kWatch,        ///< run `number` steps whose communication is timed
  kEqualize,     ///< copy rank 0's state, after kLocalSteps
  kForget,       ///< drop the task and its connections
  kRest,         ///< wait on: rank 0 runs a row alone
  kEnd,          ///< exit; `number` is the exit code
};

struct Command {
  Order order = Order::kRest;
  int64_t number = 0;
  std::string row = {};        ///< of kBuild
  std::vector<int> cpus = {};  ///< of kBuild: those of the rank
};

/// How a rank answers a command.
struct Answer {
  enum class Kind {
    kDone,
    kFailed,
    kCutOff,  ///< the connection to another rank failed, so the cause is likely there
  };
  Kind kind = Kind::kDone;
  double value = 0;
  std::string error = {};
};

std::string text(const Command& command);
Command read_command(const std::string& text);
std::string text(const Answer& answer);
Answer read_answer(const std::string& text);

/// The answer of a rank whose work threw.
Answer failed_answer(const std::exception& error);

}  // namespace fathom::benchmarks
