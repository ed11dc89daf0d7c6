// Parses values in fields of an MDS data set: the sizes of encoded images, and numbers that are written as
// text.
//
//   const ratoon::Field& photo = sample.field(data->column("photo"));  // encoding jpeg or png
//   if (auto shape = ratoon::image_shape(photo.bytes)) decode(photo.bytes, shape->height, shape->width);
//
//   const ratoon::Field& price = sample.field(data->column("price"));  // encoding str_decimal
//   if (auto number = ratoon::exact_double(price.text())) total += *number;
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ratoon {

struct ImageShape {
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::uint32_t channels = 0;  // as stored in the file: a palette is one channel

  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

// Reads height, width and channels from the header of a JPEG or PNG file, and does not decode the pixels.
// Returns nothing if the file is neither a JPEG nor a PNG file.
[[nodiscard]] std::optional<ImageShape> image_shape(std::span<const std::byte> file);

// Reads a field of encoding str_int. Returns nothing if the text is not a whole number or the number does not
// fit 64 bits.
[[nodiscard]] std::optional<std::int64_t> exact_integer(std::string_view text);

// Reads a field of encoding str_float and returns its number, which may also be "inf" or "nan". For a number
// that no double represents exactly, returns the nearest double. Returns nothing if the text is not a number
// or is too large for a double.
[[nodiscard]] std::optional<double> nearest_double(std::string_view text);

// Reads a field of encoding str_decimal. Returns the number if a double represents it exactly, as for "0.5",
// else nothing, as for "0.1".
[[nodiscard]] std::optional<double> exact_double(std::string_view text);

}  // namespace ratoon
