#include "agent/src/mds/format/values/pil_header.h"

#include <string>
#include <utility>

#include "agent/src/mds/format/little_endian.h"

namespace ratoon::mds {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::string_view kBitmapMode = "1";  // eight pixels in a byte; each row begins with a new byte

// The modes of Pillow's images, and the number of bytes per pixel of each mode. If a mode is chosen for an
// array, it is the first mode in this list that has as many bytes per pixel as the array.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 20> kPixelBytesOfModes{{
    {"L", 1},     {"P", 1},     {"LA", 2},   {"La", 2},    {"PA", 2},  {"I;16", 2},      {"I;16L", 2},
    {"I;16B", 2}, {"I;16N", 2}, {"RGB", 3},  {"YCbCr", 3}, {"LAB", 3}, {"HSV", 3},       {"RGBA", 4},
    {"RGBa", 4},  {"RGBX", 4},  {"CMYK", 4}, {"I", 4},     {"F", 4},   {kBitmapMode, 1},
}};

Error corrupted_image(const std::string& what) {
  return Error(ErrorKind::kCorrupted, "not a valid Pillow image: " + what);
}

}  // namespace

std::string_view pil_mode(std::uint64_t pixel_bytes) {
  for (const auto& [mode, size] : kPixelBytesOfModes) {
    if (size == pixel_bytes && !mode.starts_with("I")) return mode;
  }
  return {};
}

Result<PilImage> read_pil(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes)
    return corrupted_image("the image has only " + std::to_string(bytes.size()) + " bytes");
  const std::uint64_t width = read_little_endian(bytes.data());
  const std::uint64_t height = read_little_endian(bytes.data() + 4);
  const std::uint64_t mode_bytes = read_little_endian(bytes.data() + 8);
  if (mode_bytes > bytes.size() - kHeaderBytes)
    return corrupted_image("the image's mode extends beyond the image's end");

  PilImage image;
  image.mode = {reinterpret_cast<const char*>(bytes.data()) + kHeaderBytes, mode_bytes};
  image.pixels = bytes.subspan(kHeaderBytes + mode_bytes);
  std::uint64_t pixel_bytes = 0;
  for (const auto& [mode, size] : kPixelBytesOfModes) {
    if (mode == image.mode) pixel_bytes = size;
  }
  if (pixel_bytes == 0)
    return corrupted_image("the mode '" + std::string(image.mode.substr(0, 20)) + "' is unknown");
  const std::uint64_t columns = image.mode == kBitmapMode ? (width + 7) / 8 : width;
  // The size is divided by the height, because the product row_bytes * height could overflow.
  const std::uint64_t row_bytes = columns * pixel_bytes;
  const bool is_whole = height == 0
                            ? image.pixels.empty()
                            : image.pixels.size() % height == 0 && image.pixels.size() / height == row_bytes;
  if (!is_whole) {
    return corrupted_image(std::to_string(width) + " x " + std::to_string(height) + " pixels of mode " +
                           std::string(image.mode) + " do not make up " +
                           std::to_string(image.pixels.size()) + " bytes");
  }
  image.lengths = {height, columns, pixel_bytes};
  return image;
}

}  // namespace ratoon::mds
