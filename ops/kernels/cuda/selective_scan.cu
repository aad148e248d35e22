#include "ops/kernels/cuda/launch.h"
#include "ops/kernels/cuda/selective_scan.h"

namespace fathom::ops {
namespace {

constexpr int kWarp = 32;
constexpr int kScanThreads = 64;  // per block: a scan is long, and few channels fill a GPU
static_assert(2 * kMaxStates == kWarp, "a lane adds up one part");

/// A thread's sequence and channel. Sequences begin with a warp of their own.
struct Place {
  int64_t n;
  int64_t channel;
};

__device__ Place place(const ScanTensors& in) {
  const int64_t padded = scan_parts(in.channels) * kWarp;
  return {first_index() / padded, first_index() % padded};
}

template <typename T, typename Sum>
__global__ void forward(ScanTensors in, ScanOutputs out) {
  const auto [n, channel] = place(in);
  if (n < in.sequences && channel < in.channels) scan_channel<T, Sum>(in, n, channel, out);
}

/// The sum of values[i] over the lanes of a warp, in lane i.
template <typename Sum>
__device__ Sum sum_in_lane(Sum (&values)[kWarp]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int half = kWarp / 2; half > 0; half /= 2) {
    const bool upper = (lane & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const Sum given = upper ? values[i] : values[i + half];
      const Sum kept = upper ? values[i + half] : values[i];
      values[i] = kept + __shfl_xor_sync(0xffffffff, given, half);
    }
  }
  return values[0];
}

/// All lanes of a warp add up their channels' parts, also those past the last channel.
template <typename T, typename Sum>
__global__ void backward(ScanTensors in, SelectiveScanGradients out) {
  const auto [n, channel] = place(in);
  if (n >= in.sequences) return;  // a whole warp
  const bool inside = channel < in.channels;
  const int64_t warp = channel / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int state = lane % kMaxStates;
  auto* const sums = static_cast<Sum*>(lane < kMaxStates ? out.b : out.c);
  scan_channel_backward<T, Sum>(
      in, n, inside ? channel : in.channels - 1, inside, out.channels,
      [&](int64_t t, Sum(&parts)[kWarp]) {
        if (!inside) {
#pragma unroll
          for (Sum& part : parts) part = 0;
        }
        const Sum sum = sum_in_lane(parts);
        if (state >= in.states) return;
        sums[((warp * in.sequences + n) * in.positions + t) * in.states + state] = sum;
      });
}

template <typename Visit>
const char* launch_scan(const ScanCall& call, const Visit& visit) {
  const auto& in = call.in;
  if (in.states > kMaxStates) return cudaGetErrorString(cudaErrorInvalidValue);
  const int64_t threads = in.sequences * scan_parts(in.channels) * kWarp;
  if (threads == 0 || in.positions == 0) return nullptr;
  const auto blocks = static_cast<unsigned>((threads + kScanThreads - 1) / kScanThreads);
  return launch(call.element, [&](auto element, auto number) { visit(element, number, blocks); });
}

}  // namespace

const char* selective_scan(const ScanCall& call, const ScanOutputs& out) {
  return launch_scan(call, [&](auto element, auto number, unsigned blocks) {
    forward<decltype(element), decltype(number)>
        <<<blocks, kScanThreads, 0, static_cast<cudaStream_t>(call.stream)>>>(call.in, out);
  });
}

const char* selective_scan_backward(const ScanCall& call, const SelectiveScanGradients& out) {
  return launch_scan(call, [&](auto element, auto number, unsigned blocks) {
    backward<decltype(element), decltype(number)>
        <<<blocks, kScanThreads, 0, static_cast<cudaStream_t>(call.stream)>>>(call.in, out);
  });
}

}  // namespace fathom::ops
