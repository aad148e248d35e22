#include "ops/backends/kernel_set.h"

#include <c10/util/Exception.h>

namespace fathom::ops {
namespace {

class ReplacementsAreWanted final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("Overriding a previously registered kernel") == std::string::npos)
      c10::WarningHandler::process(warning);
  }
};

}  // namespace

void replace_kernels(const std::function<void()>& registrations) {
  ReplacementsAreWanted handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  registrations();
}

}  // namespace fathom::ops
