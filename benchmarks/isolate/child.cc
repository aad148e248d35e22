#include "benchmarks/isolate/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "fixtures/machine/process_end.h"

namespace fathom::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 100;  // long enough not to disturb the measurement

/// Becomes the child program. Runs between fork and exec, where nothing may allocate.
[[noreturn]] void become(char* const* arguments, const char* errors, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent has ended before prctl()
  // The kernel ends this process first when memory runs out.
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0 && write(score, "1000", 4) > 0) close(score);
  const int nowhere = open("/dev/null", O_RDWR);
  const int file = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execv("/proc/self/exe", arguments);
  _exit(127);
}

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
    return "took more memory than the " + gigabytes(limits.bytes) + " of --fathom_limit_gb";
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
  std::vector<char*> pointers;
  for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) become(pointers.data(), errors.c_str(), parent);
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
