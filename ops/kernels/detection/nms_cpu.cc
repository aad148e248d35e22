#include "ops/kernels/detection/nms_cpu.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ops/kernels/detection/nms_rule.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kTile = 256;    // boxes that are decided before the later ones are compared
constexpr int64_t kGrain = 1024;  // later boxes per thread, at least

/// Boxes that are not yet decided, one array a coordinate, by falling score.
template <typename T>
struct Candidates {
  /// As wide as T, so that comparisons of T become few vector instructions.
  using Flag = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

  explicit Candidates(const at::Tensor& boxes) : count(boxes.size(0)) {
    const T* box = boxes.const_data_ptr<T>();
    for (int64_t i = 0; i < count; ++i, box += 4) {
      x1.push_back(box[0]);
      y1.push_back(box[1]);
      x2.push_back(box[2]);
      y2.push_back(box[3]);
      position.push_back(i);
    }
    suppressed.resize(static_cast<std::size_t>(count));
  }

  Box<T> box(int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    return {x1[at], y1[at], x2[at], y2[at]};
  }

  int64_t count;
  std::vector<T> x1, y1, x2, y2;
  std::vector<int64_t> position;  ///< among all boxes
  std::vector<Flag> suppressed;
};

/// Suppresses those of the candidates [begin, end) that `kept` overlaps.
template <typename T>
FATHOM_VECTOR_CLONES void suppress(Candidates<T>& all, const Box<T>& kept, T most, int64_t begin,
                                   int64_t end) {
  const T* x1 = all.x1.data();
  const T* y1 = all.y1.data();
  const T* x2 = all.x2.data();
  const T* y2 = all.y2.data();
  auto* suppressed = all.suppressed.data();
  FATHOM_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) {
    const bool exceeds = overlap_exceeds(kept, Box<T>{x1[i], y1[i], x2[i], y2[i]}, most);
    suppressed[i] |= exceeds ? 1 : 0;
  }
}

/// Removes the first `tile` candidates and those that are suppressed.
template <typename T>
void remove_decided(Candidates<T>& all, int64_t tile) {
  std::size_t to = 0;
  for (auto i = static_cast<std::size_t>(tile); i < static_cast<std::size_t>(all.count); ++i) {
    if (all.suppressed[i] != 0) continue;
    all.x1[to] = all.x1[i];
    all.y1[to] = all.y1[i];
    all.x2[to] = all.x2[i];
    all.y2[to] = all.y2[i];
    all.position[to] = all.position[i];
    ++to;
  }
  all.count = static_cast<int64_t>(to);
  std::fill_n(all.suppressed.begin(), to, 0);
}

template <typename T>
std::vector<int64_t> kept_positions(const at::Tensor& boxes, T most) {
  Candidates<T> all(boxes);
  std::vector<int64_t> kept;
  std::vector<Box<T>> kept_of_tile;
  while (all.count > 0) {
    const int64_t tile = std::min(kTile, all.count);
    kept_of_tile.clear();
    for (int64_t i = 0; i < tile; ++i) {
      if (all.suppressed[static_cast<std::size_t>(i)] != 0) continue;
      kept.push_back(all.position[static_cast<std::size_t>(i)]);
      kept_of_tile.push_back(all.box(i));
      suppress(all, kept_of_tile.back(), most, i + 1, tile);
    }
    at::parallel_for(tile, all.count, kGrain, [&](int64_t begin, int64_t end) {
      for (const auto& box : kept_of_tile) suppress(all, box, most, begin, end);
    });
    remove_decided(all, tile);
  }
  return kept;
}

}  // namespace

at::Tensor nms_cpu(const at::Tensor& boxes, double max_overlap) {
  const auto kept = AT_DISPATCH_FLOATING_TYPES(boxes.scalar_type(), "nms", [&] {
    return kept_positions<scalar_t>(boxes, static_cast<scalar_t>(max_overlap));
  });
  at::Tensor positions = at::empty({std::ssize(kept)}, at::kLong);
  std::ranges::copy(kept, positions.mutable_data_ptr<int64_t>());
  return positions;
}

}  // namespace fathom::ops
