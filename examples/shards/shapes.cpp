#include "shapes.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <thread>

#include <ratoon/counter_random.h>
#include <ratoon/mds_writer.h>

namespace {

constexpr int kSide = 16;
using Picture = std::array<std::uint8_t, std::size_t{kSide} * kSide>;

bool is_inside(std::uint64_t shape, int x, int y, int radius) {
  switch (shape) {
    case 0:
      return x * x + y * y <= radius * radius;  // a disc
    case 1:
      return std::abs(x) <= radius && std::abs(y) <= radius;  // a square
    case 2:
      return std::abs(x) + std::abs(y) <= radius;  // a diamond
    default:
      return std::abs(x) <= radius && std::abs(y) <= radius && (x == 0 || y == 0);  // a cross
  }
}

// Picture and label depend only on the number of the sample, so the data set is the same on every machine.
Picture draw(std::uint64_t sample, std::uint64_t shape) {
  ratoon::CounterRandom random(17, "shapes", sample);
  const int radius = 2 + static_cast<int>(random.below(4));
  const int left = radius + static_cast<int>(random.below(static_cast<std::uint64_t>(kSide - 2 * radius)));
  const int top = radius + static_cast<int>(random.below(static_cast<std::uint64_t>(kSide - 2 * radius)));
  Picture picture{};
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const std::uint64_t grey = (is_inside(shape, x - left, y - top, radius) ? 160 : 32) + random.below(64);
      picture[static_cast<std::size_t>(y * kSide + x)] = static_cast<std::uint8_t>(grey);
    }
  }
  return picture;
}

void write_shapes(const std::string& folder, std::uint64_t samples) {
  // With hashes, damaged shards are detected, and other data is never mistaken for this data set.
  ratoon::MdsWriter writer(folder, {{"image", "ndarray:uint8:16,16"}, {"label", "int"}},
                           {.hashes = {"xxh3_128"}, .size_limit_bytes = 1 << 16});
  constexpr std::array<std::uint64_t, 2> kShape{kSide, kSide};
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    const std::uint64_t label = sample % 4;
    const Picture picture = draw(sample, label);
    const ratoon::Field image{ratoon::ElementType::kUint8, kShape, std::as_bytes(std::span(picture))};
    writer.write({{"image", image}, {"label", label}});
  }
  writer.finish();
}

}  // namespace

void make_shapes(ratoon::Session& session, const std::string& folder, std::uint64_t samples) {
  const auto index = std::filesystem::path(folder) / "index.json";
  if (std::filesystem::exists(index)) return;
  if (session.rank() == 0) {
    write_shapes(folder, samples);
    std::printf("made %s, a data set of %llu shapes\n", folder.c_str(),
                static_cast<unsigned long long>(samples));
    return;
  }
  while (!std::filesystem::exists(index)) {
    session.check();  // throws if the world changes: another process may be rank 0 then
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}
