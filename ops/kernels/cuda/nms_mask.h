#pragma once

#include <cstdint>

#include "ops/kernels/detection/nms_rule.h"

namespace fathom::ops {

// Non-maximum suppression of boxes that are sorted by falling score, with one bit for each pair.
// Bit j of word w of box i says whether box i suppresses box 64 w + j. The words of number w are
// adjacent, so that neighbouring threads with neighbouring boxes write neighbouring words. Written
// without CUDA, so that a CPU test runs the same arithmetic.

inline constexpr int64_t kWordBits = 64;

FATHOM_HOST_DEVICE constexpr int64_t mask_words(int64_t boxes) {
  return (boxes + kWordBits - 1) / kWordBits;
}

/// Word `word` of box number `box`. It has no bits for earlier boxes and for `box` itself.
template <typename T>
FATHOM_HOST_DEVICE inline uint64_t mask_word(const Box<T>* boxes, int64_t count, int64_t box,
                                             int64_t word, T most) {
  const int64_t begin = word * kWordBits;
  const int64_t end = begin + kWordBits < count ? begin + kWordBits : count;
  uint64_t bits = 0;
  for (int64_t j = box < begin ? begin : box + 1; j < end; ++j) {
    if (overlap_exceeds(boxes[box], boxes[j], most)) bits |= uint64_t{1} << (j - begin);
  }
  return bits;
}

/// Which of up to 64 boxes are kept. `own` are the words of these boxes for each other, and
/// `suppressed` has a bit for each that an earlier box suppresses.
FATHOM_HOST_DEVICE inline uint64_t kept_bits(const uint64_t* own, int64_t count,
                                             uint64_t suppressed) {
  uint64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    if ((suppressed >> i & 1) != 0) continue;
    kept |= uint64_t{1} << i;
    suppressed |= own[i];
  }
  return kept;
}

/// The boxes that the kept ones of up to 64 boxes suppress. `words` are those of these boxes.
FATHOM_HOST_DEVICE inline uint64_t suppressed_bits(const uint64_t* words, int64_t count,
                                                   uint64_t kept) {
  uint64_t suppressed = 0;
  for (int64_t i = 0; i < count; ++i) {
    if ((kept >> i & 1) != 0) suppressed |= words[i];
  }
  return suppressed;
}

}  // namespace fathom::ops
