#include "benchmarks/output/terminal/terminal.h"

#include <sys/ioctl.h>

namespace fathom::benchmarks {

std::size_t terminal_columns(int descriptor, std::size_t fallback) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : fallback;
}

}  // namespace fathom::benchmarks
