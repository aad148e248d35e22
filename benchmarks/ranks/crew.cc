#include "benchmarks/ranks/crew.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "benchmarks/error.h"
#include "benchmarks/ranks/meeting.h"
#include "fixtures/files/text.h"
#include "fixtures/machine/child_process.h"
#include "fixtures/machine/process_end.h"
#include "fixtures/ranks/cpu_shares.h"
#include "fixtures/ranks/network.h"

namespace fathom::benchmarks {
namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 5s;  // for a rank to exit by itself, or to answer after another was silent
constexpr std::chrono::milliseconds kLook = 200ms;  // between looks whether a rank has ended

}  // namespace

std::function<void(const std::string& call)> end_overdue(const Options& options) {
  return [warn = options.conditions.data.warn,
          seconds = options.rank_seconds](const std::string& call) {
    std::ostringstream line;
    line << call << " did not return within the " << seconds
         << " s of --fathom_rank_seconds: another rank was lost or does not answer";
    warn(line.str());
    std::cout.flush();
    std::fflush(nullptr);
    std::_Exit(kBenchmarkFailed);
  };
}

Crew::Crew(const Options& options, const std::vector<Row>& rows, Warn warn)
    : options_(options),
      warn_(std::move(warn)),
      timeout_(milliseconds(options.rank_seconds)),
      size_(options.axes.place
                ? options.axes.place->size
                : *std::max_element(options.axes.ranks.begin(), options.axes.ranks.end())) {
  members_.push_back({.facts = own_facts(options, rows)});
  if (!options.axes.place) return;
  const fixtures::Place& place = *options.axes.place;
  try {
    join(place.has_store
             ? fixtures::RankStore::connect(place.address, place.port, timeout_, place.attempt)
             : fixtures::RankStore::serve(place.port, timeout_),
         fixtures::address_towards(place.address));
  } catch (const std::exception& error) {
    throw UsageError(fixtures::first_line(error.what()));  // the launcher's set-up
  }
}

Crew::~Crew() { end(0); }

void Crew::start() {
  fixtures::bind_process(members_[0].facts.cpus);  // which the new processes inherit
  const auto store = fixtures::RankStore::serve(0, timeout_);
  const std::string size = std::to_string(size_);
  members_.resize(1);
  try {
    for (int rank = 1; rank < size_; ++rank) {
      const std::string number = std::to_string(rank);
      const pid_t process =
          fixtures::start_child({.arguments = options_.typed,
                                 .environment = {{"RANK", number},
                                                 {"WORLD_SIZE", size},
                                                 {"LOCAL_RANK", number},
                                                 {"LOCAL_WORLD_SIZE", size},
                                                 {"MASTER_ADDR", "127.0.0.1"},
                                                 {"MASTER_PORT", std::to_string(store.port())}},
                                 .without = {"TORCHELASTIC_USE_AGENT_STORE"}});
      members_.push_back({.facts = members_[0].facts, .process = process});
    }
    join(store, "127.0.0.1");
  } catch (const std::exception&) {
    end(0);
    throw;
  }
}

void Crew::join(const fixtures::RankStore& store, const std::string& address) {
  members_.resize(static_cast<std::size_t>(size_), members_[0]);
  std::string refusal;
  for (int rank = 1; rank < size_ && refusal.empty(); ++rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    member.facts = read_facts(facts_of(rank, store));
    const std::string differs = difference(members_[0].facts, member.facts);
    if (!differs.empty()) refusal = who(rank) + ' ' + differs;
  }
  const std::string overlap = overlapping_cpus();
  if (!overlap.empty() && options_.axes.place) warn_(overlap);
  store.set(kRefusalKey, refusal);
  if (!refusal.empty()) {
    wait_for_readers(store);
    throw std::runtime_error(refusal);
  }
  control_ = std::make_unique<fixtures::Group>(store, fixtures::GroupOptions{.name = kControlGroup,
                                                                             .rank = 0,
                                                                             .size = size_,
                                                                             .address = address,
                                                                             .timeout = timeout_});
  store_ = store;
  address_ = address;
}

/// What a rank tells when it joins. Does not wait on for a process of this one that has ended.
std::string Crew::facts_of(int rank, const fixtures::RankStore& store) {
  const bool ours = members_[static_cast<std::size_t>(rank)].process != 0;
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  for (;;) {
    try {
      return store.get(facts_key(rank), ours ? kLook : timeout_);
    } catch (const std::exception&) {
      const std::string end = end_of(rank);
      if (ours && end.empty() && std::chrono::steady_clock::now() < deadline) continue;
      throw std::runtime_error("rank " + std::to_string(rank) + " did not join" +
                               (end.empty()
                                    ? " within the " + std::to_string(timeout_.count() / 1000) +
                                          " s of --fathom_rank_seconds"
                                    : ": " + end));
    }
  }
}

/// A line where ranks with different masks share a CPU; else empty.
std::string Crew::overlapping_cpus() const {
  std::vector<std::vector<int>> masks;
  std::vector<std::string> machines;
  std::vector<std::string> hosts;
  for (const auto& member : members_) {
    masks.push_back(member.facts.cpus);
    machines.push_back(member.facts.machine);
    hosts.push_back(member.facts.host);
  }
  return fixtures::shared_cpus(masks, machines, hosts);
}

/// The store ends with this process, so that other ranks must have read why before.
void Crew::wait_for_readers(const fixtures::RankStore& store) const {
  for (int rank = 1; rank < size_; ++rank) {
    try {
      store.get(refused_key(rank), kGrace);
    } catch (const std::exception&) {
      continue;  // it has not come
    }
  }
}

void Crew::invite(const Row& row) {
  if (!lost_.empty()) throw std::runtime_error("was not run: " + lost_);
  if (control_ == nullptr) start();
  std::vector<std::vector<int>> shares;
  for (int rank = 0; rank < row.ranks; ++rank) shares.push_back(share_of(rank, row));
  fixtures::bind_process(shares[0]);
  ++groups_;
  for (int rank = 1; rank < row.ranks; ++rank) {
    send(rank, {.order = Order::kBuild,
                .number = groups_,
                .row = row.name,
                .cpus = shares[static_cast<std::size_t>(rank)]});
  }
}

std::shared_ptr<const fixtures::Group> Crew::connect(const Row& row) const {
  return std::make_shared<const fixtures::Group>(
      *store_, fixtures::GroupOptions{.device = row.device,
                                      .uses_mpi = row.uses_mpi,
                                      .name = group_name(groups_),
                                      .rank = 0,
                                      .size = row.ranks,
                                      .address = address_,
                                      .timeout = timeout_,
                                      .overdue = end_overdue(options_)});
}

std::vector<int> Crew::share_of(int rank, const Row& row) const {
  const RankFacts& own = members_[static_cast<std::size_t>(rank)].facts;
  int before = 0;
  int all = 0;
  for (int other = 0; other < row.ranks; ++other) {
    const RankFacts& facts = members_[static_cast<std::size_t>(other)].facts;
    if (facts.machine != own.machine || facts.cpus != own.cpus) continue;
    if (other < rank) ++before;
    ++all;
  }
  const auto share = fixtures::cpu_share(own.cpus, before, all);
  if (std::ssize(share) < row.threads) {
    throw std::runtime_error(who(rank) + " has " + std::to_string(share.size()) + " of the " +
                             std::to_string(own.cpus.size()) + " CPUs that " + std::to_string(all) +
                             " ranks share, expected one for each of its " +
                             std::to_string(row.threads) + " threads");
  }
  return share;
}

void Crew::tell(const Row& row, const Command& command) const {
  for (int rank = 1; rank < row.ranks; ++rank) send(rank, command);
}

/// A rank that is lost is noticed by its answer, which does not come.
void Crew::send(int rank, const Command& command) const {
  if (control_ == nullptr) return;
  try {
    control_->send(rank, text(command));
  } catch (const std::exception&) {
    return;
  }
}

std::vector<Answer> Crew::answers(const Row& row, const std::exception* own) {
  std::vector<Answer> all{own == nullptr ? Answer{} : failed_answer(*own)};
  std::string lost;
  auto patience = timeout_;
  if (control_ == nullptr) {
    throw std::runtime_error(own == nullptr ? "no rank is left" : own->what());
  }
  std::vector<fixtures::Group::Expected> expected;
  for (int rank = 1; rank < row.ranks; ++rank) expected.push_back(control_->expect(rank));
  for (int rank = 1; rank < row.ranks; ++rank) {
    try {
      all.push_back(read_answer(expected[static_cast<std::size_t>(rank) - 1](patience)));
    } catch (const std::exception& error) {
      all.emplace_back();
      lost += (lost.empty() ? "" : "; ") + who(rank) + fate(rank, error);
      patience = kGrace;  // the others have had the time to answer
    }
  }
  if (!lost.empty()) {
    if (options_.axes.place) {
      lost_ = lost + ", in " + row.name;
      warn_(lost_);  // at once: a launcher may end this process now
    }
    end(kBenchmarkFailed);
    throw std::runtime_error(lost);
  }
  for (const auto kind : {Answer::Kind::kFailed, Answer::Kind::kCutOff}) {
    for (int rank = 0; rank < row.ranks; ++rank) {
      const Answer& answer = all[static_cast<std::size_t>(rank)];
      if (answer.kind != kind) continue;
      throw std::runtime_error(rank == 0 ? answer.error : who(rank) + ": " + answer.error);
    }
  }
  return all;
}

void Crew::rest() {
  fixtures::bind_process(members_[0].facts.cpus);
  for (int rank = 1; rank < size_; ++rank) send(rank, {.order = Order::kRest});
}

std::string Crew::who(int rank) const {
  return "rank " + std::to_string(rank) + " (" +
         members_[static_cast<std::size_t>(rank)].facts.host + ")";
}

/// How a rank that this process started has ended; empty where it has not, or where a launcher
/// started it.
std::string Crew::end_of(int rank) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  int status = 0;
  if (member.process == 0 || waitpid(member.process, &status, WNOHANG) != member.process) return {};
  member.process = 0;
  return fixtures::process_end(status);
}

/// What became of a rank from which nothing was received.
std::string Crew::fate(int rank, const std::exception& error) {
  const bool silent = fixtures::is_silence(error.what());
  std::string end = end_of(rank);
  // Its connections close a little before the process has ended.
  const bool ours = members_[static_cast<std::size_t>(rank)].process != 0;
  for (int i = 0; ours && !silent && end.empty() && i < 100; ++i) {
    std::this_thread::sleep_for(10ms);
    end = end_of(rank);
  }
  if (!end.empty()) return " was lost: " + end;
  return silent ? " does not answer" : " was lost: " + failed_answer(error).error;
}

void Crew::end(int exit_code) {
  for (int rank = 1; rank < size_; ++rank) {
    send(rank, {.order = Order::kEnd, .number = exit_code});
  }
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  for (auto& member : members_) {
    if (member.process == 0) continue;
    int status = 0;
    while (waitpid(member.process, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) kill(member.process, SIGKILL);
      std::this_thread::sleep_for(10ms);
    }
    member.process = 0;
  }
  control_.reset();
  store_.reset();
}

std::vector<std::pair<std::string, std::string>> Crew::context() const {
  std::set<std::string> hosts;
  std::set<std::string> cpus;
  for (const auto& member : members_) {
    hosts.insert(member.facts.machine);
    cpus.insert(member.facts.cpu);
  }
  std::string models;
  for (const auto& cpu : cpus) models += (models.empty() ? "" : "; ") + cpu;
  return {{"ranks", std::to_string(size_)},
          {"hosts", std::to_string(hosts.size())},
          {"launcher", options_.axes.place ? options_.axes.place->launcher : "fathom_bench"},
          {"rank_cpu_models", models},
          {"rank_interface", fixtures::gloo_interfaces(address_)}};
}

}  // namespace fathom::benchmarks
