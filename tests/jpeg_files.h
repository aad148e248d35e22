#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <random>
#include <stdexcept>
#include <vector>

#include "fixtures/jpeg.h"
#include "fixtures/libjpeg.h"

namespace fathom::tests {

/// How a file keeps its colours: YCbCr, luminance, or inks inverted as Adobe writes them.
enum class Colours { kRgb, kGray, kCmyk, kYcck };

/// One scan; a scan a colour; ten scans of growing precision; one scan, arithmetic-coded, where
/// jconfig.h defines C_ARITH_CODING_SUPPORTED.
enum class Coding { kBaseline, kPlanes, kProgressive, kArithmetic };

/// What every reader must know.
struct Kind {
  const char* name;
  Colours colours;
  Coding coding;
};

inline void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

inline constexpr Kind kKinds[]{
    {"rgb", Colours::kRgb, Coding::kBaseline},
    {"gray", Colours::kGray, Coding::kBaseline},
    {"cmyk", Colours::kCmyk, Coding::kBaseline},
    {"ycck", Colours::kYcck, Coding::kBaseline},
    {"planes", Colours::kRgb, Coding::kPlanes},
    {"progressive", Colours::kRgb, Coding::kProgressive},
    {"progressive_cmyk", Colours::kCmyk, Coding::kProgressive},
#ifdef C_ARITH_CODING_SUPPORTED
    {"arithmetic", Colours::kRgb, Coding::kArithmetic},
#endif
};

/// Colours that change slowly along both axes, so that JPEG keeps them; the same for the same size.
inline fixtures::Picture smooth_picture(int64_t width, int64_t height) {
  fixtures::Picture picture{.width = width, .height = height, .pixels = {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const double across = static_cast<double>(x) / static_cast<double>(width);
      const double down = static_cast<double>(y) / static_cast<double>(height);
      for (const double level : {40 + 160 * across, 220 - 150 * down, 90 + 70 * across * down}) {
        picture.pixels.push_back(static_cast<uint8_t>(level));
      }
    }
  }
  return picture;
}

/// Black, white and full colours at random: the largest files.
inline fixtures::Picture noise(int64_t width, int64_t height) {
  fixtures::Picture picture{.width = width, .height = height, .pixels = {}};
  std::mt19937 random(1);
  while (std::ssize(picture.pixels) < width * height * 3) {
    picture.pixels.push_back(static_cast<uint8_t>(random() % 2 * 255));
  }
  return picture;
}

/// [height, width, 4], 255 without ink: what black can say is left to black.
inline std::vector<uint8_t> inverted_inks(const fixtures::Picture& picture) {
  std::vector<uint8_t> inks;
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    const uint8_t* rgb = &picture.pixels[i];
    const int black = *std::max_element(rgb, rgb + 3);
    for (int c = 0; c < 3; ++c) {
      inks.push_back(static_cast<uint8_t>(black == 0 ? 255 : rgb[c] * 255 / black));
    }
    inks.push_back(static_cast<uint8_t>(black));
  }
  return inks;
}

/// `picture` as a JPEG file of quality 95.
inline std::vector<uint8_t> jpeg_file(const fixtures::Picture& picture,
                                      Colours colours = Colours::kRgb,
                                      Coding coding = Coding::kBaseline) {
  const bool inks = colours == Colours::kCmyk || colours == Colours::kYcck;
  std::vector<uint8_t> pixels = inks ? inverted_inks(picture) : picture.pixels;
  constexpr jpeg_scan_info kPlanes[]{
      {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;

  fixtures::JpegTrap trap;
  jpeg_compress_struct info{};
  trap.install(info);
  const bool written = trap.run([&] {
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &bytes, &size);
    info.image_width = static_cast<unsigned>(picture.width);
    info.image_height = static_cast<unsigned>(picture.height);
    info.input_components = inks ? 4 : 3;
    info.in_color_space = inks ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&info);
    if (colours == Colours::kGray) jpeg_set_colorspace(&info, JCS_GRAYSCALE);
    if (colours == Colours::kYcck) jpeg_set_colorspace(&info, JCS_YCCK);
    jpeg_set_quality(&info, 95, TRUE);
    if (coding == Coding::kProgressive) jpeg_simple_progression(&info);
    if (coding == Coding::kArithmetic) info.arith_code = TRUE;
    if (coding == Coding::kPlanes) {
      info.scan_info = kPlanes;
      info.num_scans = 3;
    }
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      auto row = static_cast<std::size_t>(info.next_scanline) * info.image_width;
      uint8_t* start = &pixels[row * static_cast<std::size_t>(info.input_components)];
      jpeg_write_scanlines(&info, &start, 1);
    }
    jpeg_finish_compress(&info);
  });
  jpeg_destroy_compress(&info);
  if (!written) throw std::runtime_error(trap.words());
  const std::unique_ptr<unsigned char, decltype(&std::free)> owner(bytes, std::free);
  return {bytes, bytes + size};
}

/// Where the frame header of a valid JPEG file begins: FF Cx, length, precision, height, width.
inline std::size_t frame_header(const std::vector<uint8_t>& file) {
  constexpr uint8_t kHuffmanTables = 0xC4;
  std::size_t place = 2;
  while ((file.at(place + 1) & 0xF0) != 0xC0 || file[place + 1] == kHuffmanTables) {
    place += 2 + static_cast<std::size_t>(file.at(place + 2) * 256 + file.at(place + 3));
  }
  return place;
}

/// `file` with another size in its header.
inline std::vector<uint8_t> resized(std::vector<uint8_t> file, int width, int height) {
  uint8_t* size = &file.at(frame_header(file) + 5);
  size[0] = static_cast<uint8_t>(height / 256);
  size[1] = static_cast<uint8_t>(height % 256);
  size[2] = static_cast<uint8_t>(width / 256);
  size[3] = static_cast<uint8_t>(width % 256);
  return file;
}

}  // namespace fathom::tests
