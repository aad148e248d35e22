#include "benchmarks/ranks/led_task.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "benchmarks/ranks/perform.h"

namespace fathom::benchmarks {
namespace {

// Steps that are timed after each pass, without and with their communication.
constexpr double kLocalSeconds = 0.5;
constexpr double kWatchedSeconds = 0.3;
constexpr int64_t kMinSteps = 3;
constexpr int64_t kMaxSteps = 1000;

int64_t steps_in(double seconds, double step_us) {
  return std::clamp<int64_t>(std::llround(seconds * 1e6 / step_us), kMinSteps, kMaxSteps);
}

/// Rank 0's task. Whatever it does, it tells the other ranks first.
class LedTask final : public Task {
 public:
  LedTask(Crew& crew, const Row& row) : crew_(crew), row_(row) {
    crew_.invite(row_);
    try {
      attempt([&] { own_ = row_.make_rank(row_, crew_.connect(row_)); });
      collect();
    } catch (const std::exception&) {
      forget();  // on ranks that have built theirs, too
      throw;
    }
  }
  ~LedTask() override { forget(); }
  LedTask(const LedTask&) = delete;
  LedTask& operator=(const LedTask&) = delete;

  void begin_steps(int64_t steps) override {
    if (std::exchange(diverged_, false)) on_all({.order = Order::kEqualize});
    start({.order = Order::kSteps, .number = steps}, [&] { own_->group().barrier(); });
  }
  void run() override {
    attempt([&] { own_->run(); });
  }
  void warm_up_step() override {
    attempt([&] { own_->warm_up_step(); });
  }
  void check() override { on_all({.order = Order::kCheck}); }
  void check_finite() override { on_all({.order = Order::kCheckFinite}); }
  StepCounts counts() const override { return own_->counts(); }

  Counters compare_ranks(double step_us) override {
    on_all({.order = Order::kCheckRanks});
    if (!own_->computes()) return {};
    Counters counters;
    const Command watch{.order = Order::kWatch, .number = steps_in(kWatchedSeconds, step_us)};
    start(watch, [&] { counters = own_->watch(watch.number); });
    diverged_ = true;
    std::vector<double> local =
        on_all({.order = Order::kLocalSteps, .number = steps_in(kLocalSeconds, step_us)});
    const double mean =
        std::accumulate(local.begin(), local.end(), 0.0) / static_cast<double>(local.size());
    const auto slowest = std::max_element(local.begin(), local.end());
    counters.emplace_back("local_step_us", mean * 1e6);
    counters.emplace_back("exposed_us", step_us - mean * 1e6);
    const double one = one_rank_us(step_us);
    if (one > 0) counters.emplace_back("scaling_pct", 100 * one / step_us);
    if (local.size() > 1) {
      counters.emplace_back("slowest_rank", static_cast<double>(slowest - local.begin()));
      counters.emplace_back("slowest_rank_pct", 100 * (*slowest / mean - 1));
    }
    return counters;
  }

 private:
  /// The time of the same step with one rank, where that row has run; else 0.
  double one_rank_us(double step_us) {
    std::string name = row_.name;
    const auto begin = name.find("/ranks:");
    name.erase(begin, name.find('/', begin + 1) - begin);
    double& us = crew_.one_rank_us()[name];
    if (row_.ranks == 1) us = step_us;
    return us;
  }

  /// Does rank 0's part. Where it throws, the other ranks tell why.
  template <typename Work>
  void attempt(Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      own_.reset();  // closes the connections, so that no other rank waits for this one
      pending_ = false;
      crew_.answers(row_, &error);
    }
  }

  /// Takes the answers to the last command.
  std::vector<Answer> collect() {
    if (!std::exchange(pending_, false)) return {};
    try {
      return crew_.answers(row_);
    } catch (const std::exception&) {
      own_.reset();
      throw;
    }
  }

  /// Has the other ranks perform a command while `work` does rank 0's part. Their answers wait for
  /// collect().
  template <typename Work>
  void start(const Command& command, Work work) {
    collect();
    crew_.tell(row_, command);
    pending_ = true;
    attempt(work);
  }

  /// Has every rank perform a command; returns the values of their answers.
  std::vector<double> on_all(const Command& command) {
    std::vector<double> values(1);
    start(command, [&] { values[0] = perform(*own_, command); });
    const auto answers = collect();
    for (std::size_t rank = 1; rank < answers.size(); ++rank) values.push_back(answers[rank].value);
    return values;
  }

  void forget() {
    try {
      collect();
      own_.reset();
      crew_.tell(row_, {.order = Order::kForget});
    } catch (const std::exception&) {
      own_.reset();  // the next row starts other ranks, or fails with the reason
    }
  }

  Crew& crew_;
  const Row& row_;
  std::unique_ptr<RankTask> own_;
  bool pending_ = true;    ///< whether the last command has no answer yet
  bool diverged_ = false;  ///< whether local steps have run since the ranks were equal
};

}  // namespace

std::unique_ptr<Task> make_led_task(Crew& crew, const Row& row) {
  return std::make_unique<LedTask>(crew, row);
}

}  // namespace fathom::benchmarks
