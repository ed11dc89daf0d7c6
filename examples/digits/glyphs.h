// A generated data set: the ten digits, drawn with seven strokes as on a pocket calculator, shifted,
// thickened and covered with noise. The same seed gives the same pictures on every machine.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

struct Glyphs {
  at::Tensor images;  // F32 [count, 1, 16, 16]
  at::Tensor labels;  // I64 [count]
};

Glyphs make_glyphs(std::int64_t count, std::uint64_t seed);
