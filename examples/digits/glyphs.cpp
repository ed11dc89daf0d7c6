#include "glyphs.h"

#include <algorithm>
#include <array>
#include <random>

#include <ATen/ops/zeros.h>

namespace {

constexpr int kSide = 16;

struct Stroke {
  int left, top, right, bottom;  // of a 6 x 10 digit, both ends included
};
constexpr std::array<Stroke, 7> kStrokes = {{
    {0, 0, 5, 0},  // top
    {0, 0, 0, 4},  // upper left
    {5, 0, 5, 4},  // upper right
    {0, 5, 5, 5},  // middle
    {0, 5, 0, 9},  // lower left
    {5, 5, 5, 9},  // lower right
    {0, 9, 5, 9},  // bottom
}};
// One bit per stroke, the first stroke in the lowest bit.
constexpr std::array<unsigned, 10> kDigits = {0b1110111, 0b0100100, 0b1011101, 0b1101101, 0b0101110,
                                              0b1101011, 0b1111011, 0b0100101, 0b1111111, 0b1101111};

// The distributions of standard libraries differ between machines; the engines do not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  float unit() { return static_cast<float>(engine_() >> 40) * 0x1p-24F; }

 private:
  std::mt19937_64 engine_;
};

void draw(float* image, int digit, Dice& dice) {
  const int left = 1 + dice.below(8);
  const int top = 1 + dice.below(4);
  const int thickness = 1 + dice.below(2);
  const float ink = 0.5F + 0.5F * dice.unit();
  for (std::size_t s = 0; s < kStrokes.size(); ++s) {
    if ((kDigits[static_cast<std::size_t>(digit)] >> s & 1U) == 0) continue;
    const Stroke& stroke = kStrokes[s];
    for (int y = stroke.top; y < stroke.bottom + thickness; ++y) {
      for (int x = stroke.left; x < stroke.right + thickness; ++x) {
        if (top + y < kSide && left + x < kSide) image[(top + y) * kSide + left + x] = ink;
      }
    }
  }
  for (int i = 0; i < kSide * kSide; ++i) image[i] += 0.8F * (dice.unit() - 0.5F);
}

}  // namespace

Glyphs make_glyphs(std::int64_t count, std::uint64_t seed) {
  Glyphs glyphs{at::zeros({count, 1, kSide, kSide}), at::zeros({count}, at::TensorOptions(at::kLong))};
  auto* image = glyphs.images.mutable_data_ptr<float>();
  auto* label = glyphs.labels.mutable_data_ptr<std::int64_t>();
  Dice dice(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    label[i] = dice.below(10);
    draw(image + i * kSide * kSide, static_cast<int>(label[i]), dice);
  }
  return glyphs;
}
