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

void run(const ops::Op& op, const OpOptions& options) {
  const ops::Tensors inputs =
      ops::converted(op.inputs(options.seed), ops::scalar_type(options.precision),
                     fixtures::torch_device(options.device));
  ops::vendor_results(options.backend, op, inputs, options.precision);
  fixtures::synchronize(options.device);
}

std::string probe(const ops::ShapeRow& row, const OpOptions& options) {
  std::string refusal;
  for (const auto fields : row.type->examples) {
    const auto op = ops::parse_op(*row.type, row.pass, fields);
    const auto backends = op->backends();
    if (std::count(backends.begin(), backends.end(), options.backend) == 0) continue;
    try {
      run(*op, options);
      return {};
    } catch (const ops::NotSupported& error) {
      refusal = fixtures::first_line(error.what());
    } catch (const std::exception&) {  // the rows stay and report it
      return {};
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
