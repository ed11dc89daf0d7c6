#include "agent/src/mds/format/values/encoding.h"

#include <array>
#include <charconv>
#include <limits>

namespace ratoon::mds {
namespace {

struct NamedEncoding {
  std::string_view name;
  EncodingKind kind;
  ElementType type;
};

constexpr std::array kVariableSizeEncodings{
    NamedEncoding{"bytes", EncodingKind::kBytes, ElementType::kBytes},
    NamedEncoding{"jpeg", EncodingKind::kBytes, ElementType::kBytes},
    NamedEncoding{"png", EncodingKind::kBytes, ElementType::kBytes},
    NamedEncoding{"str", EncodingKind::kText, ElementType::kText},
    NamedEncoding{"json", EncodingKind::kText, ElementType::kText},
    NamedEncoding{"str_int", EncodingKind::kText, ElementType::kText},
    NamedEncoding{"str_float", EncodingKind::kText, ElementType::kText},
    NamedEncoding{"str_decimal", EncodingKind::kText, ElementType::kText},
    NamedEncoding{"ndarray", EncodingKind::kArray, ElementType::kBytes},
    NamedEncoding{"pil", EncodingKind::kPil, ElementType::kUint8},
    NamedEncoding{"jpeg_array", EncodingKind::kJpegArray, ElementType::kBytes},
    NamedEncoding{"jpegarray", EncodingKind::kJpegArray, ElementType::kBytes},
    NamedEncoding{"list[pil]", EncodingKind::kList, ElementType::kBytes},
    NamedEncoding{"list[jpeg]", EncodingKind::kList, ElementType::kBytes},
    NamedEncoding{"list[png]", EncodingKind::kList, ElementType::kBytes},
};

constexpr std::array kNumberTypes{
    ElementType::kUint8,   ElementType::kInt8,    ElementType::kUint16,  ElementType::kInt16,
    ElementType::kUint32,  ElementType::kInt32,   ElementType::kUint64,  ElementType::kInt64,
    ElementType::kFloat16, ElementType::kFloat32, ElementType::kFloat64,
};

constexpr std::string_view kArrayName = "ndarray";
constexpr std::size_t kDimensionsMax = 63;

Error unknown_encoding_error(std::string_view name) {
  return Error(ErrorKind::kInvalid,
               "the encoding '" + std::string(name.substr(0, 80)) + "' is not one that Streaming 0.13 knows");
}

// Parses "3,224,224". Returns nothing if the text is no shape, or if an array of the shape would have more
// bytes than a file can hold.
std::optional<std::vector<std::uint64_t>> parse_shape(std::string_view text, std::uint64_t item_bytes) {
  std::vector<std::uint64_t> shape;
  std::uint64_t size_bytes = item_bytes;
  while (true) {
    std::uint32_t dimension = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), dimension);
    if (problem != std::errc() || dimension == 0 || shape.size() == kDimensionsMax) return std::nullopt;
    size_bytes *= dimension;
    if (size_bytes > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    shape.push_back(dimension);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return shape;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
}

Encoding fixed_size_encoding(std::string_view name, ElementType type, std::vector<std::uint64_t> shape) {
  std::uint64_t size_bytes = size_of(type);
  for (const std::uint64_t dimension : shape) size_bytes *= dimension;
  return {.name = std::string(name),
          .kind = EncodingKind::kFixed,
          .type = type,
          .shape = std::move(shape),
          .size_bytes = static_cast<std::uint32_t>(size_bytes)};
}

// Parses the name of an array encoding, such as "ndarray:float32" or "ndarray:float32:3,224,224".
Result<Encoding> parse_array(std::string_view name) {
  const std::string_view detail = name.substr(kArrayName.size() + 1);
  if (detail.empty()) return Encoding{.name = std::string(name), .kind = EncodingKind::kArray};
  const std::size_t colon = detail.find(':');
  const auto type = parse_number_type(detail.substr(0, colon));
  if (!type) return unknown_encoding_error(name);
  if (colon == std::string_view::npos)
    return Encoding{.name = std::string(name), .kind = EncodingKind::kArray, .type = *type};
  auto shape = parse_shape(detail.substr(colon + 1), size_of(*type));
  if (!shape) return unknown_encoding_error(name);
  return fixed_size_encoding(name, *type, std::move(*shape));
}

}  // namespace

std::optional<ElementType> parse_number_type(std::string_view name) {
  for (const ElementType type : kNumberTypes) {
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

Result<Encoding> parse_encoding(std::string_view name) {
  for (const NamedEncoding& known : kVariableSizeEncodings) {
    if (known.name == name)
      return Encoding{.name = std::string(name), .kind = known.kind, .type = known.type};
  }
  if (name == "int") return fixed_size_encoding(name, ElementType::kInt64, {});
  if (const auto type = parse_number_type(name)) return fixed_size_encoding(name, *type, {});
  if (name.starts_with(kArrayName) && name.substr(kArrayName.size()).starts_with(':'))
    return parse_array(name);
  if (name == "pkl") {
    return Error(ErrorKind::kInvalid,
                 "the encoding 'pkl' is refused: reading a pickle runs any code that its writer put there. "
                 "Write the column again as json, ndarray or bytes");
  }
  return unknown_encoding_error(name);
}

EncodingKind element_kind(const Encoding& list) {
  return list.name == "list[pil]" ? EncodingKind::kPil : EncodingKind::kBytes;
}

}  // namespace ratoon::mds
