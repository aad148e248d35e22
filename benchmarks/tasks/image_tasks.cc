// Times the work on an image before a training step: JPEG decoding, and the whole preparation of an
// ImageNet file. A step of these tasks is 64 images on the intra-op threads.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "benchmarks/tasks/fixture_task.h"
#include "fixtures/files/file.h"
#include "fixtures/images/image_preprocess.h"
#include "fixtures/images/imagenet.h"
#include "fixtures/images/jpeg.h"

namespace fathom::benchmarks {
namespace {

constexpr int64_t kImages = 64;
constexpr int64_t kSide = 224;

struct File {
  std::string path;
  std::vector<uint8_t> bytes;
};

/// A synthetic photograph with ImageNet's most frequent size in pixels and about its mean size of
/// 110 kB: smooth waves and noise.
File synthetic_file(uint64_t seed) {
  fixtures::Random random(seed);
  fixtures::Picture picture{.width = 500, .height = 375, .pixels = {}};
  const double across = random.uniform(0.01, 0.05);
  const double down = random.uniform(0.01, 0.05);
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      const double wave = 128 + 60 * std::sin(across * static_cast<double>(x)) +
                          40 * std::sin(down * static_cast<double>(y));
      const double noise = random.uniform(-44, 44);
      for (int channel = 0; channel < 3; ++channel) {
        const double value = std::clamp(wave + noise - 4 * channel, 0.0, 255.0);
        picture.pixels.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  return {"synthetic.jpeg", fixtures::encode_jpeg(picture, /*quality=*/90)};
}

std::vector<File> files(const FixtureOptions& options) {
  std::vector<File> files;
  if (options.data.synthetic()) {
    for (uint64_t i = 0; i < kImages; ++i) files.push_back(synthetic_file(options.seed + i));
    return files;
  }
  constexpr int64_t kMaxClasses = 1000;
  const auto found = fixtures::imagenet_files(options.data, kMaxClasses, kImages, options.seed);
  for (std::size_t i = 0; i < kImages; ++i) {
    const auto& path = found[i % found.size()].path;
    files.push_back({path, fixtures::read_file(path, 256 << 20)});
  }
  return files;
}

class ImageTask : public Task {
 public:
  explicit ImageTask(const FixtureOptions& options) : seed_(options.seed), files_(files(options)) {
    double bytes = 0;
    for (const auto& file : files_) bytes += static_cast<double>(file.bytes.size());
    counts_.items = kImages;
    counts_.counters.emplace_back("file_bytes", bytes / kImages);
  }

  void run() override {
    at::parallel_for(0, kImages, 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        work(i, files_[i]);
      }
    });
  }
  void check_finite() override {}
  StepCounts counts() const override { return counts_; }

 protected:
  virtual void work(std::size_t i, const File& file) = 0;

  const std::vector<File>& inputs() const { return files_; }
  uint64_t seed() const { return seed_; }

 private:
  uint64_t seed_;
  std::vector<File> files_;
  StepCounts counts_;
};

class JpegDecode final : public ImageTask {
 public:
  using ImageTask::ImageTask;

  void check() override {
    for (std::size_t i = 0; i < pictures_.size(); ++i) {
      const auto size = fixtures::jpeg_size(inputs()[i].bytes, inputs()[i].path);
      if (pictures_[i].width != size.width || pictures_[i].height != size.height) {
        throw std::runtime_error(inputs()[i].path + ": the decoded size differs from the header's");
      }
    }
  }

 private:
  void work(std::size_t i, const File& file) override {
    pictures_[i] = fixtures::decode_jpeg(file.bytes, file.path);
  }

  std::vector<fixtures::Picture> pictures_{kImages};
};

class ImagePreprocess final : public ImageTask {
 public:
  using ImageTask::ImageTask;

  void check() override {
    for (const auto& image : images_) {
      if (image.sizes() != c10::IntArrayRef({3, kSide, kSide}) ||
          !(image.abs().max().item<float>() <= 1)) {
        throw std::runtime_error("an image is not [3, 224, 224] in [-1, 1]");
      }
    }
  }

 private:
  void work(std::size_t i, const File& file) override {
    images_[i] =
        fixtures::prepare_image(file.bytes, file.path, kSide, /*training=*/true, seed() + i);
  }

  std::vector<at::Tensor> images_{kImages};
};

}  // namespace

std::unique_ptr<Task> make_jpeg_decode(const FixtureOptions& options) {
  return std::make_unique<JpegDecode>(options);
}

std::unique_ptr<Task> make_image_preprocess(const FixtureOptions& options) {
  return std::make_unique<ImagePreprocess>(options);
}

}  // namespace fathom::benchmarks
