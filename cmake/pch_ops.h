// Precompiled for the ops: what calls and their arguments are made of.
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>

#include "cmake/pch.h"
