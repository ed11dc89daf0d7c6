#include <array>

#include <ratoon/mds_values.h>

namespace ratoon {
namespace {

using Bytes = std::span<const std::byte>;

std::uint32_t read_big_endian(Bytes bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

bool begins_with(Bytes file, std::string_view text) {
  if (file.size() < text.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (file[i] != static_cast<std::byte>(text[i])) return false;
  }
  return true;
}

std::optional<ImageShape> shape_of(std::uint32_t height, std::uint32_t width, std::uint32_t channels) {
  if (height == 0 || width == 0 || channels == 0) return std::nullopt;
  return ImageShape{.height = height, .width = width, .channels = channels};
}

// A PNG file begins with its signature and the chunk IHDR, which consists of length, name, width, height, bit
// depth and color type.
std::optional<ImageShape> png_shape(Bytes file) {
  constexpr std::array<std::uint32_t, 7> kChannels = {1, 0, 3, 1, 2, 0, 4};
  if (file.size() < 26 || !begins_with(file.subspan(8), std::string_view("\0\0\0\rIHDR", 8)))
    return std::nullopt;
  const auto color = std::to_integer<std::size_t>(file[25]);
  if (color >= kChannels.size()) return std::nullopt;
  return shape_of(read_big_endian(file.subspan(20, 4)), read_big_endian(file.subspan(16, 4)),
                  kChannels[color]);
}

// A JPEG file is a series of segments. Each segment begins with the byte FF, a marker and, for most markers,
// a length. The frame header of a JPEG file has a marker from C0 to CF, except C4, C8 and CC, which have
// other meanings.
std::optional<ImageShape> jpeg_shape(Bytes file) {
  std::size_t at = 2;
  while (at + 4 <= file.size()) {
    if (file[at] != std::byte{0xff}) return std::nullopt;
    const auto marker = std::to_integer<unsigned>(file[at + 1]);
    if (marker == 0xff) {  // a fill byte
      ++at;
      continue;
    }
    if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {  // a marker without a length
      at += 2;
      continue;
    }
    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (is_frame) {
      if (file.size() < at + 10) return std::nullopt;
      return shape_of(read_big_endian(file.subspan(at + 5, 2)), read_big_endian(file.subspan(at + 7, 2)),
                      read_big_endian(file.subspan(at + 9, 1)));
    }
    if (marker == 0xd9 || marker == 0xda) return std::nullopt;  // the end, or pixels without a frame header
    const std::uint32_t length = read_big_endian(file.subspan(at + 2, 2));
    if (length < 2) return std::nullopt;
    at += 2 + length;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ImageShape> image_shape(Bytes file) {
  if (begins_with(file, "\x89PNG\r\n\x1a\n")) return png_shape(file);
  if (begins_with(file, "\xff\xd8")) return jpeg_shape(file);
  return std::nullopt;
}

}  // namespace ratoon
