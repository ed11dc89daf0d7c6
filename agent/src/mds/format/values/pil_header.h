// Pixels as Pillow stores them: u32 width, u32 height, u32 length of the mode, the mode, the pixels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::mds {

struct PilImage {
  std::string_view mode{};
  std::array<std::uint64_t, 3> lengths{};  // height, width, bytes of a pixel
  std::span<const std::byte> pixels{};

  // Returns height and width, and the bytes per pixel if there are more than one.
  [[nodiscard]] std::span<const std::uint64_t> shape() const {
    return std::span(lengths).first(lengths[2] == 1 ? 2 : 3);
  }
};

[[nodiscard]] Result<PilImage> read_pil(std::span<const std::byte> bytes);

// Returns Pillow's mode (L, LA, RGB, RGBA) for 1 to 4 bytes per pixel; empty for other numbers.
[[nodiscard]] std::string_view pil_mode(std::uint64_t pixel_bytes);

}  // namespace ratoon::mds
