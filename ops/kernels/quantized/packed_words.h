#pragma once

#include <cstdint>

/// How the codes of a PackedWeight lie in its words.
namespace fathom::ops::packed_words {

inline constexpr int64_t kBytes = 4;  ///< of a word

/// The fields of a word of codes with so many bits.
constexpr int64_t fields(int bits) { return 32 / bits; }

/// What is added to codes, so that they are unsigned.
constexpr int32_t offset(int bits) { return 1 << (bits - 1); }

/// The column whose code field j has: the fields of a byte are 4 columns apart.
constexpr int64_t column_of(int64_t field, int bits) {
  const int64_t parts = 8 / bits;  // of a byte
  return field / parts + field % parts * kBytes;
}

}  // namespace fathom::ops::packed_words
