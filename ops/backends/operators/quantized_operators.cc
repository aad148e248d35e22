#include <array>
#include <cstddef>

#include "ops/backends/operators/quantized_layers.h"
#include "ops/backends/operators/replacement.h"
#include "ops/core/call_args.h"

namespace fathom::ops {
namespace {

std::optional<at::Tensor> optional(const c10::IValue& value) {
  return given(value) ? std::optional(value.toTensor()) : std::nullopt;
}

enum Operator : std::size_t { kMm, kMmOut, kAddmm, kAddmmOut, kConvolution };
constexpr std::array kNames{"mm", "mm.out", "addmm", "addmm.out", "convolution"};

template <Operator op>
QuantizedLayer* layer(Arguments in) {
  return quantized_layer(kNames[op], in);
}

/// mm(x, weight), the weight as [K, N].
template <Backend backend>
std::optional<Results> mm(Arguments in, KeptPointer& /*kept*/) {
  return Results{layer<kMm>(in)->linear(backend, in[0].toTensor(), {})};
}

/// addmm(bias, x, weight, beta, alpha).
template <Backend backend>
std::optional<Results> addmm(Arguments in, KeptPointer& /*kept*/) {
  return Results{layer<kAddmm>(in)->linear(backend, in[1].toTensor(), in[0].toTensor())};
}

/// The overload of an operator that writes into its last argument.
template <Attempt run>
std::optional<Results> out(Arguments in, KeptPointer& kept) {
  return Results{in.back().toTensor().copy_(run(in, kept)->front())};
}

/// convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups).
template <Backend backend>
std::optional<Results> convolution(Arguments in, KeptPointer& /*kept*/) {
  return Results{layer<kConvolution>(in)->convolution(backend, in[0].toTensor(), optional(in[2]),
                                                      {.stride = pair_argument(in[3]),
                                                       .padding = pair_argument(in[4]),
                                                       .dilation = pair_argument(in[5]),
                                                       .groups = in[8].toInt()})};
}

template <Backend backend>
std::vector<Replacement> all_on() {
  std::vector<Replacement> all;
  const char* const of = name(backend).data();
  const auto add_one = [&]<Operator op>(Attempt run) {
    all.push_back({.op = kNames[op], .run = run, .backend = of, .claims = [](Arguments in) {
                     return layer<op>(in) != nullptr;
                   }});
  };
  add_one.template operator()<kMm>(mm<backend>);
  add_one.template operator()<kMmOut>(out<mm<backend>>);
  add_one.template operator()<kAddmm>(addmm<backend>);
  add_one.template operator()<kAddmmOut>(out<addmm<backend>>);
  add_one.template operator()<kConvolution>(convolution<backend>);
  return all;
}

}  // namespace

std::vector<Replacement> quantized_operators(Backend backend) {
  if (backend == Backend::kOneDnn) return all_on<Backend::kOneDnn>();
  return backend == Backend::kNative ? all_on<Backend::kNative>() : all_on<Backend::kTorch>();
}

}  // namespace fathom::ops
