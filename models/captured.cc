#include "models/captured.h"

#include <exception>
#include <stdexcept>
#include <string>

#include "fixtures/files/text.h"
#include "ops/cuda/library.h"
#include "ops/profiler/observe.h"

namespace fathom::models {
namespace {

constexpr const char* kWork = "the step";

/// Remembers the call of LibTorch that began last: if an exception ends the work, it threw it.
class LastCall final : public ops::Observer {
 public:
  bool start(const ops::Event& event) override {
    if (event.what == ops::Event::What::kOp) name_ = event.call.name;
    return false;
  }
  const std::string& name() const { return name_; }
  /// The work has returned, so an error that follows is of no call.
  void forget() { name_ = kWork; }

 private:
  std::string name_ = kWork;
};

}  // namespace

std::unique_ptr<ops::CudaGraphs> captured(const ops::CaptureCall& call) {
  const ops::CudaLibrary* library = ops::cuda_library();
  if (library == nullptr) throw std::runtime_error("CUDA graphs need a GPU");
  LastCall last;
  ops::CaptureCall observed = call;
  observed.work = [&] {
    ops::observe(last, call.work, /*arguments=*/false);
    last.forget();
  };
  try {
    return library->capture_graphs(observed);
  } catch (const std::exception& error) {
    throw std::runtime_error(
        last.name() + " cannot be captured in a CUDA graph: " + fixtures::first_line(error.what()));
  }
}

}  // namespace fathom::models
