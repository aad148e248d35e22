// Precompiled header of the ops: the types of calls and their arguments.
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>

#include "cmake/pch.h"
