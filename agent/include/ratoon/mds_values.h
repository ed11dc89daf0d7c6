// What fields of an MDS data set say beyond their bytes: sizes of images that are still files, numbers that
// are written out.
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
  std::uint32_t channels = 0;  // as the file stores them: a palette is one

  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

// From the header of a JPEG or PNG file; nothing is decoded. Nothing for other bytes.
[[nodiscard]] std::optional<ImageShape> image_shape(std::span<const std::byte> file);

// What a str_int says; nothing if it is no whole number, or none that 64 bits hold.
[[nodiscard]] std::optional<std::int64_t> exact_integer(std::string_view text);

// What a str_float says: the very number that was written, "inf" and "nan" included. Of other decimals the
// nearest number; nothing if it is no number, or too large for one.
[[nodiscard]] std::optional<double> nearest_double(std::string_view text);

// What a str_decimal says, where a double is exactly that: "0.5" is, "0.1" is not.
[[nodiscard]] std::optional<double> exact_double(std::string_view text);

}  // namespace ratoon
