#pragma once

#include "ops/op.h"

namespace fathom::benchmarks {

/// Copies of tensors, those on the CPU at random places of a memory page. How the operands of a
/// short op lie to each other changes its time by some percent, since loads wait for stores at the
/// same place of another page. malloc puts them at the same places in every process until anything
/// before them changes, if only the length of a path, and that looks like a change of the op
/// (Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009).
/// At random places it is noise between processes.
ops::Tensors placed_anew(const ops::Tensors& tensors);

}  // namespace fathom::benchmarks
