#pragma once

#include "ops/core/op.h"

namespace fathom::benchmarks {

// Addresses change the time of a short op by a percent or more: a load waits for a store at the
// same offset in another page (4K aliasing), and buffers evict each other from a cache set. malloc
// returns the same offsets in every process until an earlier allocation changes, even the length of
// a path. The new time then looks like a change of the op (Mytkowicz et al., "Producing Wrong Data
// Without Doing Anything Obviously Wrong!", ASPLOS 2009). So a process that links this file starts
// its heap at a random offset in a page, and inputs of ops get random offsets: the bias of one
// process becomes noise between processes.

/// Copies tensors; each copy on the CPU starts at a random offset in a page.
ops::Tensors copied_at_random_offset(const ops::Tensors& tensors);

}  // namespace fathom::benchmarks
