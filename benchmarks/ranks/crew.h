#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/options/options.h"
#include "benchmarks/ranks/message.h"
#include "benchmarks/ranks/rank_facts.h"
#include "benchmarks/rows/rows.h"
#include "fixtures/ranks/group.h"
#include "fixtures/ranks/place.h"

namespace fathom::benchmarks {

/// The ranks of a run as rank 0 sees them. Rank 0 alone runs Google Benchmark and decides; it tells
/// the others what to run. Where no launcher has started them, it starts them on this host with the
/// first row that needs them, and again after one was lost.
class Crew {
 public:
  using Warn = std::function<void(const std::string& line)>;

  /// Under a launcher, waits until all ranks have joined. Throws UsageError where one does
  /// not come, or runs another build or other options.
  Crew(const Options& options, const std::vector<Row>& rows, Warn warn);
  /// Ends the other ranks.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Has the other ranks of the row connect and build their tasks. Throws std::runtime_error where
  /// they cannot run it; then they were not asked.
  void invite(const Row& row);
  /// Connects this process with the ranks that invite() asked.
  std::shared_ptr<const fixtures::Group> connect(const Row& row) const;
  void tell(const Row& row, const Command& command) const;
  /// The answers of ranks 1, 2, ... to the last command. `own` is the error of rank 0's part, null
  /// where it did that. Throws std::runtime_error with the rank that failed first and its reason.
  std::vector<Answer> answers(const Row& row, const std::exception* own = nullptr);
  /// Before a row that rank 0 runs alone, on all its CPUs.
  void rest();

  /// The median time of a step with one rank, in microseconds, by the name of the row without its
  /// ranks.
  std::map<std::string, double>& one_rank_us() { return one_rank_us_; }
  /// Entries of the context: the launcher, the hosts and their CPUs.
  std::vector<std::pair<std::string, std::string>> context() const;

 private:
  struct Member {
    RankFacts facts;
    pid_t process = 0;  ///< that this process started; 0: none
  };

  std::string who(int rank) const;  ///< "rank 1 (node7)"
  void start();
  void join(const fixtures::RankStore& store, const std::string& address);
  std::string facts_of(int rank, const fixtures::RankStore& store);
  std::string overlapping_cpus() const;
  void wait_for_readers(const fixtures::RankStore& store) const;
  void send(int rank, const Command& command) const;
  std::vector<int> share_of(int rank, const Row& row) const;
  std::string end_of(int rank);
  std::string fate(int rank, const std::exception& error);
  void end(int exit_code);

  const Options& options_;
  Warn warn_;
  std::chrono::milliseconds timeout_;
  int size_;
  std::vector<Member> members_;  ///< by rank; only this one before start()
  std::optional<fixtures::RankStore> store_;
  std::string address_ = "127.0.0.1";  ///< of this host
  std::unique_ptr<fixtures::Group> control_;
  int64_t groups_ = 0;  ///< made so far; part of their names
  std::map<std::string, double> one_rank_us_;
  std::string lost_;  ///< under a launcher, who was lost in which row; empty: none
};

/// For GroupOptions: says that a call of MPI does not return, and ends this process.
std::function<void(const std::string& call)> end_overdue(const Options& options);

/// Joins rank 0 and runs what it commands until it ends. Returns the exit code. Throws
/// UsageError where rank 0 cannot be reached or refuses this rank, RankLost where it is lost later.
int follow(const fixtures::Place& place, const Options& options, const std::vector<Row>& rows);

}  // namespace fathom::benchmarks
