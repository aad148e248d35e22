#include "benchmarks/isolate/child.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "fixtures/machine/child_process.h"
#include "fixtures/machine/process_end.h"
#include "fixtures/ranks/place.h"

namespace fathom::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 100;  // long enough not to disturb the measurement

/// Resident memory that is not shared with other processes.
double private_bytes(pid_t child) {
  std::ifstream file("/proc/" + std::to_string(child) + "/statm");
  double size = 0;
  double resident = 0;
  double shared = 0;
  file >> size >> resident >> shared;
  return (resident - shared) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::string gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB", bytes / 1e9);
  return text;
}

/// The limit that the child has exceeded; empty where it is within all limits.
std::string exceeded_limit(pid_t child, double seconds, const Limits& limits) {
  char text[96];
  if (seconds > limits.seconds) {
    std::snprintf(text, sizeof text, "took longer than the %g s of --fathom_limit_seconds",
                  limits.seconds);
    return text;
  }
  if (private_bytes(child) > limits.bytes) {
    return "took more memory than the " + gigabytes(limits.bytes) + ' ' + limits.bytes_are;
  }
  return {};
}

ChildExit exit_of(int status) {
  if (WIFEXITED(status)) return {.code = WEXITSTATUS(status), .reason = {}};
  std::string reason = "ended by " + fixtures::process_end(status);
  if (WTERMSIG(status) == SIGKILL) reason += ": out of memory, or killed by another process";
  return {.code = -1, .reason = reason};
}

}  // namespace

ChildExit run_child(const std::vector<std::string>& arguments, const std::string& errors,
                    const Limits& limits, const std::function<void()>& tick) {
  const pid_t child = fixtures::start_child({.arguments = arguments,
                                             .without = fixtures::launcher_variables(),
                                             .errors = errors,
                                             .dispensable = true});
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const auto begin = Clock::now();
  int ticks = 0;
  int status = 0;
  std::string over;
  while (waitpid(child, &status, WNOHANG) == 0) {
    pollfd exit{.fd = handle, .events = POLLIN, .revents = 0};
    poll(&exit, handle >= 0 ? 1 : 0, kPollMs);  // without a handle poll() only sleeps
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    over = exceeded_limit(child, seconds, limits);
    if (!over.empty()) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    if (seconds > ticks + 1) {
      ++ticks;
      tick();
    }
  }
  if (handle >= 0) close(handle);
  return over.empty() ? exit_of(status) : ChildExit{.code = -1, .reason = over};
}

}  // namespace fathom::benchmarks
