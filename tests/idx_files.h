#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/temporary_folder.h"

namespace fathom::tests {

using Bytes = std::vector<uint8_t>;

/// The start of an IDX file.
inline Bytes header(uint32_t magic, const std::vector<uint32_t>& dims) {
  Bytes bytes;
  const auto append = [&bytes](uint32_t word) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<uint8_t>(word >> shift));
  };
  append(magic);
  for (const uint32_t size : dims) append(size);
  return bytes;
}

inline Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

inline Bytes image_file(const Bytes& pixels) {
  return joined(header(0x803, {static_cast<uint32_t>(pixels.size() / 784), 28, 28}), pixels);
}

inline Bytes label_file(const Bytes& labels) {
  return joined(header(0x801, {static_cast<uint32_t>(labels.size())}), labels);
}

/// As gzwrite() writes it.
inline Bytes gzipped(const Bytes& bytes) {
  const TemporaryFolder folder("gzip");
  const std::string path = folder.path() / "file.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  std::ifstream written(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(written), {}};
}

inline Bytes without_last(Bytes bytes, std::size_t count) {
  bytes.resize(bytes.size() - count);
  return bytes;
}

}  // namespace fathom::tests
