#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace fathom::tests {

/// `count` samples at 16 kHz that grow louder.
inline std::vector<int16_t> sine(int64_t count, double hertz = 440) {
  std::vector<int16_t> samples;
  for (int64_t i = 0; i < count; ++i) {
    const double loudness = 1000 + 5000.0 * static_cast<double>(i) / static_cast<double>(count);
    const double turns = hertz * static_cast<double>(i) / 16'000;
    samples.push_back(static_cast<int16_t>(loudness * std::sin(6.283185307179586 * turns)));
  }
  return samples;
}

inline std::string data_bytes(const std::vector<int16_t>& samples, bool little = true) {
  std::string bytes;
  for (const int16_t sample : samples) {
    const auto value = static_cast<uint16_t>(sample);
    const auto low = static_cast<char>(value & 0xFF);
    const auto high = static_cast<char>(value >> 8);
    bytes += little ? std::string{low, high} : std::string{high, low};
  }
  return bytes;
}

/// The header's lines as TIMIT has them.
inline std::string sphere_fields(std::size_t count) {
  return "database_id -s5 TIMIT\ndatabase_version -s3 1.0\nutterance_id -s8 cjf0_sa1\n"
         "channel_count -i 1\nsample_count -i " +
         std::to_string(count) +
         "\nsample_rate -i 16000\nsample_min -i -3053\nsample_max -i 2772\nsample_n_bytes -i 2\n"
         "sample_byte_format -s2 01\nsample_sig_bits -i 16\nend_head\n";
}

/// A header of 1,024 bytes with those lines, then `data`.
inline std::string sphere_file(const std::string& fields, const std::string& data) {
  std::string file = "NIST_1A\n   1024\n" + fields;
  file.resize(1024, ' ');
  return file + data;
}

inline std::string sphere_file(const std::vector<int16_t>& samples) {
  return sphere_file(sphere_fields(samples.size()), data_bytes(samples));
}

/// Little-endian.
inline std::string number_bytes(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> 8 * i & 0xFF);
  return bytes;
}

inline std::string chunk(const std::string& name, const std::string& data) {
  return name + number_bytes(data.size(), 4) + data + std::string(data.size() % 2, '\0');
}

inline std::string riff_format(uint64_t coding = 1, uint64_t channels = 1, uint64_t rate = 16'000,
                               uint64_t bits = 16) {
  return number_bytes(coding, 2) + number_bytes(channels, 2) + number_bytes(rate, 4) +
         number_bytes(rate * 2, 4) + number_bytes(2, 2) + number_bytes(bits, 2);
}

inline std::string riff_file(const std::string& chunks) {
  return "RIFF" + number_bytes(4 + chunks.size(), 4) + "WAVE" + chunks;
}

inline std::string riff_file(const std::vector<int16_t>& samples) {
  return riff_file(chunk("fmt ", riff_format()) + chunk("data", data_bytes(samples)));
}

}  // namespace fathom::tests
