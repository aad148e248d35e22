#include "ops/backends/operators/replacement.h"
#include "ops/core/call_args.h"
#include "ops/kernels/quantized/quantized_layers.h"

namespace fathom::ops {
namespace {

std::optional<at::Tensor> optional(const c10::IValue& value) {
  return given(value) ? std::optional(value.toTensor()) : std::nullopt;
}

template <const char* const& op>
bool claims(Arguments in) {
  return quantized_layer(op, in) != nullptr;
}

constexpr const char* kMm = "mm";
constexpr const char* kMmOut = "mm.out";
constexpr const char* kAddmm = "addmm";
constexpr const char* kAddmmOut = "addmm.out";
constexpr const char* kConvolution = "convolution";

/// mm(x, weight), the weight as [K, N].
template <Backend backend>
std::optional<Results> mm(Arguments in, KeptPointer& /*kept*/) {
  return Results{quantized_layer(kMm, in)->linear(backend, in[0].toTensor(), {})};
}

/// addmm(bias, x, weight, beta, alpha).
template <Backend backend>
std::optional<Results> addmm(Arguments in, KeptPointer& /*kept*/) {
  return Results{quantized_layer(kAddmm, in)->linear(backend, in[1].toTensor(), in[0].toTensor())};
}

/// The overload of an operator that writes into its last argument.
template <Attempt run>
std::optional<Results> out(Arguments in, KeptPointer& kept) {
  return Results{in.back().toTensor().copy_(run(in, kept)->front())};
}

/// convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups).
template <Backend backend>
std::optional<Results> convolution(Arguments in, KeptPointer& /*kept*/) {
  return Results{quantized_layer(kConvolution, in)
                     ->convolution(backend, in[0].toTensor(), optional(in[2]),
                                   {.stride = pair_argument(in[3]),
                                    .padding = pair_argument(in[4]),
                                    .dilation = pair_argument(in[5]),
                                    .groups = in[8].toInt()})};
}

template <Backend backend>
void add(std::vector<Replacement>& all) {
  const char* const of = name(backend).data();
  all.push_back({.op = kMm, .run = mm<backend>, .backend = of, .claims = claims<kMm>});
  all.push_back({.op = kMmOut, .run = out<mm<backend>>, .backend = of, .claims = claims<kMmOut>});
  all.push_back({.op = kAddmm, .run = addmm<backend>, .backend = of, .claims = claims<kAddmm>});
  all.push_back(
      {.op = kAddmmOut, .run = out<addmm<backend>>, .backend = of, .claims = claims<kAddmmOut>});
  all.push_back({.op = kConvolution,
                 .run = convolution<backend>,
                 .backend = of,
                 .claims = claims<kConvolution>});
}

}  // namespace

std::vector<Replacement> quantized_operators(bool with_native) {
  std::vector<Replacement> all;
  add<Backend::kTorch>(all);
  if (with_native) add<Backend::kNative>(all);
  return all;
}

}  // namespace fathom::ops
