#include "benchmarks/tasks/vendor_probe.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "fixtures/files/text.h"
#include "ops/backends/vendor.h"
#include "ops/core/check.h"
#include "ops/core/kernel.h"

namespace fathom::benchmarks {
namespace {

void run_once(const ops::Op& op, const OpOptions& options) {
  const at::ScalarType type =
      options.precision == fixtures::Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  const ops::Tensors inputs =
      ops::converted(op.inputs(options.seed), type, fixtures::torch_device(options.device));
  ops::Tensors outputs = op.call(inputs)();
  for (auto& output : outputs) output = output.contiguous();
  const auto kernel =
      ops::vendor_kernel(options.backend, op.problem(inputs, outputs), options.precision);
  kernel->run();
  kernel->write_outputs();
  fixtures::synchronize(options.device);
}

std::string probe(const ops::ShapeRow& row, const OpOptions& options) {
  std::string refusal;
  for (const auto fields : row.type->examples) {
    const auto op = ops::parse_op(*row.type, row.pass, fields);
    const auto backends = op->backends();
    if (std::count(backends.begin(), backends.end(), options.backend) == 0) continue;
    try {
      run_once(*op, options);
      return {};
    } catch (const std::exception& error) {
      refusal = fixtures::first_line(error.what());
    }
  }
  return refusal;
}

}  // namespace

const std::string& vendor_refusal(const ops::ShapeRow& row, const OpOptions& options) {
  using Key = std::tuple<const ops::OpType*, ops::Pass, fixtures::Device, fixtures::Precision,
                         ops::Backend>;
  static std::map<Key, std::string> refusals;
  const Key key{row.type, row.pass, options.device, options.precision, options.backend};
  auto found = refusals.find(key);
  if (found == refusals.end()) found = refusals.emplace(key, probe(row, options)).first;
  return found->second;
}

}  // namespace fathom::benchmarks
