// mds/format/values/: Encodes and decodes the values in a sample. The functions are pure.
//
// An Encoding, named as in MosaicML Streaming, describes a column's bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/element_type.h>
#include <ratoon/result.h>

namespace ratoon::mds {

enum class EncodingKind : std::uint8_t {
  kBytes,      // unchanged bytes, including image files
  kText,       // UTF-8
  kFixed,      // numbers whose type and shape are in the name
  kArray,      // an array that contains its shape, and its type if the name has none
  kPil,        // pixels after a header with their width, height and mode
  kJpegArray,  // a count, sizes, files
  kList,       // a placeholder, a count, sizes, elements
};

struct Encoding {
  std::string name;
  EncodingKind kind = EncodingKind::kBytes;
  ElementType type = ElementType::kBytes;  // of the field; kArray without a type in its name: kBytes
  std::optional<std::vector<std::uint64_t>> shape{};  // if every sample has the same
  std::uint32_t size_bytes = 0;                       // if every sample has the same; 0: it varies

  friend bool operator==(const Encoding&, const Encoding&) = default;
};

// Refuses names that MosaicML Streaming does not know, and the encoding of Python pickles.
[[nodiscard]] Result<Encoding> parse_encoding(std::string_view name);

// Parses the name of a numeric type, such as "uint8" or "float64". Returns nothing if no numeric type has
// this name.
[[nodiscard]] std::optional<ElementType> parse_number_type(std::string_view name);

// Returns the encoding of the elements of the list encoding `list`: kPil for Pillow images, or kBytes for
// image files.
[[nodiscard]] EncodingKind element_kind(const Encoding& list);

}  // namespace ratoon::mds
