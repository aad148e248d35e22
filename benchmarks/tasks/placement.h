#pragma once

#include "ops/core/op.h"

namespace fathom::benchmarks {

// Where memory lies changes the time of a short op by a percent or more: loads wait for stores at
// the same place of another page, and what shares a cache's set drives each other out. malloc puts
// everything at the same places of its pages in every process, until anything before it changes, if
// only the length of a path; that looks like a change of the op (Mytkowicz et al., "Producing Wrong
// Data Without Doing Anything Obviously Wrong!", ASPLOS 2009). So a process that links this begins
// its heap at a random place of a page, and its ops' inputs lie at random distances: what was one
// program's own time is noise between processes.

/// Copies of tensors, those on the CPU each at a random place of a page.
ops::Tensors placed_anew(const ops::Tensors& tensors);

}  // namespace fathom::benchmarks
