// What the bytes of a column mean, by the name that Streaming gives it.
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
  kBytes,      // as they are; files of images too
  kText,       // UTF-8
  kFixed,      // numbers whose type and shape the name says
  kArray,      // an array that says its shape, and its type where the name does not
  kPil,        // pixels behind a header with their width, height and mode
  kJpegArray,  // a count, sizes, files
  kList,       // a placeholder, a count, sizes, elements
};

struct Encoding {
  std::string name;
  EncodingKind kind = EncodingKind::kBytes;
  ElementType type = ElementType::kBytes;  // of the field; kArray without a type in its name: kBytes
  std::optional<std::vector<std::uint64_t>> shape{};  // where every sample has the same
  std::uint32_t size_bytes = 0;                       // where every sample has the same; 0: it varies

  friend bool operator==(const Encoding&, const Encoding&) = default;
};

// Refuses names that Streaming does not know, and its pickles.
[[nodiscard]] Result<Encoding> parse_encoding(std::string_view name);

// "uint8" to "float64"; nothing for others.
[[nodiscard]] std::optional<ElementType> parse_number_type(std::string_view name);

// What the elements of a list are encoded as: kPil, or kBytes for files of images.
[[nodiscard]] EncodingKind element_kind(const Encoding& list);

}  // namespace ratoon::mds
