// A Pillow image in the MDS format consists of its width, its height and the length of its mode (each as
// u32), the mode, and the pixels.
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

  // Returns the shape of an image: height and width, and the number of bytes per pixel if it is greater than
  // 1.
  [[nodiscard]] std::span<const std::uint64_t> shape() const {
    return std::span(lengths).first(lengths[2] == 1 ? 2 : 3);
  }
};

[[nodiscard]] Result<PilImage> read_pil(std::span<const std::byte> bytes);

// Returns Pillow's mode (L, LA, RGB, RGBA) for 1 to 4 bytes per pixel, and an empty text for other numbers.
[[nodiscard]] std::string_view pil_mode(std::uint64_t pixel_bytes);

}  // namespace ratoon::mds
