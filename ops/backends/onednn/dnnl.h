#pragma once

#include <oneapi/dnnl/dnnl_config.h>
// The wheel's headers define it, and then call functions that a oneDNN built without it lacks.
#undef DNNL_EXPERIMENTAL_SPARSE
#include <oneapi/dnnl/dnnl.hpp>
