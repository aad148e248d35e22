#include <algorithm>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/ranks/crew.h"
#include "benchmarks/ranks/meeting.h"
#include "benchmarks/ranks/perform.h"
#include "fixtures/machine/device.h"
#include "fixtures/machine/team.h"
#include "fixtures/ranks/cpu_shares.h"
#include "fixtures/ranks/network.h"

namespace fathom::benchmarks {
namespace {

/// How long a rank waits for its next command while rank 0 runs other rows. If rank 0 dies, its
/// connections close at once; only if its host dies does a rank wait this long.
constexpr std::chrono::hours kRest{24};

/// What a rank holds for the row that runs.
struct Work {
  std::unique_ptr<RankTask> task;
  const fixtures::RankStore& store;
  fixtures::GroupOptions options;

  void build(const Command& command, const std::vector<Row>& rows) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& one) { return one.name == command.row; });
    if (row == rows.end()) throw std::runtime_error("has no row " + command.row);
    fixtures::bind_process(command.cpus);
    fixtures::set_threads(row->threads);
    options.name = group_name(command.number);
    options.size = row->ranks;
    options.device = row->device;
    options.uses_mpi = row->uses_mpi;
    task = row->make_rank(*row, std::make_shared<const fixtures::Group>(store, options));
    if (row->device == fixtures::Device::kCpu) fixtures::expect_team(row->threads);
  }
};

Answer answer(Work& work, const Command& command, const std::vector<Row>& rows) {
  try {
    if (command.order == Order::kBuild) {
      work.build(command, rows);
      return {};
    }
    if (work.task == nullptr) throw std::logic_error("this rank has no task");
    return {.value = perform(*work.task, command)};
  } catch (const std::exception& error) {
    work.task.reset();  // closes the connections, so that no other rank waits for this one
    return failed_answer(error);
  }
}

/// Does `work` of the launcher's set-up.
template <typename Work>
auto joining(Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    throw UsageError(failed_answer(error).error);
  }
}

/// Does `work`, which needs rank 0.
template <typename Work>
auto with_rank_0(Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    throw RankLost("rank 0 was lost: " + failed_answer(error).error);
  }
}

}  // namespace

int follow(const fixtures::Place& place, const Options& options, const std::vector<Row>& rows) {
  const auto timeout = milliseconds(options.rank_seconds);
  const auto store = joining([&] {
    const auto made = fixtures::RankStore::connect(place.address, place.port, timeout,
                                                   place.has_store ? place.attempt : "");
    made.set(facts_key(place.rank), text(own_facts(options, rows)));
    return made;
  });
  // Rank 0 waits for each of the others in turn.
  const std::string refusal =
      with_rank_0([&] { return store.get(kRefusalKey, timeout * place.size); });
  if (!refusal.empty()) {
    store.set(refused_key(place.rank), "");
    throw UsageError("rank 0 ends the run: " + refusal);
  }
  const fixtures::GroupOptions control_options{.name = kControlGroup,
                                               .rank = place.rank,
                                               .size = place.size,
                                               .address = fixtures::address_towards(place.address),
                                               .timeout = timeout,
                                               .overdue = end_overdue(options)};
  const fixtures::Group control(store, control_options);
  Work work{.task = nullptr, .store = store, .options = control_options};
  for (;;) {
    const Command command = read_command(with_rank_0([&] { return control.receive(0, kRest); }));
    if (command.order == Order::kEnd) return static_cast<int>(command.number);
    if (command.order == Order::kRest) continue;
    if (command.order == Order::kForget) {
      work.task.reset();
      continue;
    }
    const std::string reply = text(answer(work, command, rows));
    with_rank_0([&] { control.send(0, reply); });
  }
}

}  // namespace fathom::benchmarks
