// A data set of LibTorch: the digits of the example digits, turned by a quarter. Each time that a picture is
// read it has other noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <torch/data/datasets/base.h>
#include <torch/data/datasets/map.h>
#include <torch/data/example.h>
#include <torch/types.h>

#include "../digits/glyphs.h"

class TurnedGlyphs : public torch::data::datasets::Dataset<TurnedGlyphs> {
 public:
  TurnedGlyphs(std::int64_t count, std::uint64_t seed) : glyphs_(make_glyphs(count, seed)) {
    glyphs_.images = glyphs_.images.rot90(1, {2, 3}).contiguous();
  }

  torch::data::Example<> get(std::size_t index) override {
    const auto picture = glyphs_.images[static_cast<std::int64_t>(index)];
    return {picture + 0.2 * (torch::rand_like(picture) - 0.5),
            glyphs_.labels[static_cast<std::int64_t>(index)]};
  }
  [[nodiscard]] std::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(glyphs_.labels.size(0));
  }
  [[nodiscard]] const Glyphs& glyphs() const { return glyphs_; }

 private:
  Glyphs glyphs_;
};
