#include "models/network/network.h"

#include <algorithm>

#include "models/network/archive.h"
#include "models/network/compiled.h"
#include "models/network/exported_program.h"
#include "models/network/script.h"

namespace fathom::models {

int64_t batch_of(const std::vector<at::Tensor>& inputs) {
  const auto batched = std::find_if(inputs.begin(), inputs.end(),
                                    [](const at::Tensor& input) { return input.dim() > 0; });
  return batched == inputs.end() ? 1 : batched->size(0);
}

std::unique_ptr<Network> read_network(const std::string& path,
                                      const std::optional<c10::IValue>& arguments) {
  const Archive archive(path);
  switch (archive.kind()) {
    case ArchiveKind::kExportedProgram:
      return read_exported_program(archive, arguments);
    case ArchiveKind::kTorchScript:
      return read_script(archive, arguments);
    case ArchiveKind::kCompiled:
      return read_compiled(archive, arguments);
  }
  return nullptr;
}

}  // namespace fathom::models
