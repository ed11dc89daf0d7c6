#include "agent/src/mds/format/values/encode.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include <ratoon/mds_values.h>

#include "agent/src/mds/format/python_text.h"
#include "agent/src/mds/format/values/array_header.h"
#include "agent/src/mds/format/values/encode_number.h"
#include "agent/src/mds/format/values/pil_header.h"
#include "base/core/utf8.h"

namespace ratoon::mds {
namespace {

constexpr std::uint64_t kUint32Max = std::numeric_limits<std::uint32_t>::max();

Error encode_error(const std::string& what) {
  return Error(ErrorKind::kInvalid, what);
}

Error wrong_value_error(const Encoding& encoding, const char* wanted) {
  return encode_error("'" + encoding.name + "' takes " + wanted + ", or bytes that are encoded already");
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append(std::string& out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// ---- numbers

bool is_float(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kFloat32 || type == ElementType::kFloat64;
}

Result<void> encode_fixed(const Encoding& encoding, const MdsValue& value, std::string& out) {
  if (const Field* const field = std::get_if<Field>(&value.get())) {
    if (field->type != encoding.type || !std::ranges::equal(field->shape, *encoding.shape) ||
        field->bytes.size() != encoding.size_bytes)
      return wrong_value_error(encoding, "an array of its type and shape");
    return append(out, field->bytes), Result<void>();
  }
  if (!encoding.shape->empty()) return wrong_value_error(encoding, "an array of its type and shape");
  if (const auto* number = std::get_if<std::int64_t>(&value.get()))
    return encode_number(encoding.type, *number, out);
  if (const auto* number = std::get_if<std::uint64_t>(&value.get()))
    return encode_number(encoding.type, *number, out);
  const auto* number = std::get_if<double>(&value.get());
  if (number == nullptr || !is_float(encoding.type))
    return wrong_value_error(encoding, is_float(encoding.type) ? "a number" : "a whole number");
  return encode_number(encoding.type, *number, out);
}

// ---- texts

bool is_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<void> append_text(const Encoding& encoding, std::string_view text, std::string& out) {
  if (!is_utf8(std::as_bytes(std::span(text)))) return encode_error("the text is not UTF-8");
  if (encoding.name == "str_int" && !is_integer(text)) return wrong_value_error(encoding, "a whole number");
  if (encoding.name == "str_float") return wrong_value_error(encoding, "a number");
  if (encoding.name == "str_decimal" && !nearest_double(text))
    return wrong_value_error(encoding, "a decimal number as text");
  if (encoding.name == "json" && !nlohmann::json::accept(text))
    return wrong_value_error(encoding, "valid JSON as text");
  out += text;
  return {};
}

Result<void> encode_text(const Encoding& encoding, const MdsValue& value, std::string& out) {
  if (const auto* text = std::get_if<std::string_view>(&value.get()))
    return append_text(encoding, *text, out);
  const Field* const field = std::get_if<Field>(&value.get());
  if (field != nullptr && field->type == ElementType::kText) return append_text(encoding, field->text(), out);
  if (encoding.name == "str_int") {
    if (const auto* number = std::get_if<std::int64_t>(&value.get()))
      return out += std::to_string(*number), Result<void>();
    if (const auto* number = std::get_if<std::uint64_t>(&value.get()))
      return out += std::to_string(*number), Result<void>();
  }
  const auto* number = std::get_if<double>(&value.get());
  if (encoding.name == "str_float" && number != nullptr)
    return out += format_python_float(*number), Result<void>();
  return wrong_value_error(encoding, encoding.name == "str_int"     ? "a whole number"
                                     : encoding.name == "str_float" ? "a number"
                                                                    : "a text");
}

// ---- Arrays and images.

Result<void> encode_array(const Encoding& encoding, const Field& array, std::string& out) {
  const bool is_typed = encoding.type != ElementType::kBytes;
  const std::uint8_t type = array_type_code(array.type);
  if (type == 0 || (is_typed && array.type != encoding.type))
    return wrong_value_error(encoding, "an array of its type");
  const auto& shape = array.shape;
  if (shape.empty() || shape.size() > 63 || std::ranges::count(shape, 0U) > 0 ||
      array.bytes.size() != bytes_of(array.type, shape))
    return wrong_value_error(encoding, "an array of 1 to 63 dimensions, none of them 0");
  const std::uint64_t longest = *std::ranges::max_element(shape);
  const unsigned code = longest < 1U << 8 ? 0 : longest < 1U << 16 ? 1 : longest <= kUint32Max ? 2 : 3;
  if (!is_typed) append(out, type);
  append(out, static_cast<std::uint8_t>(shape.size() << 2 | code));
  for (const std::uint64_t length : shape)
    out.append(reinterpret_cast<const char*>(&length), std::size_t{1} << code);  // the low bytes come first
  append(out, array.bytes);
  return {};
}

Result<void> encode_pil(const Encoding& encoding, const Field& image, std::string& out) {
  const auto& shape = image.shape;
  const std::string_view mode = shape.size() == 2   ? pil_mode(1)
                                : shape.size() == 3 ? pil_mode(shape[2])
                                                    : std::string_view();
  if (image.type != ElementType::kUint8 || mode.empty() || shape[0] > kUint32Max || shape[1] > kUint32Max ||
      image.bytes.size() != bytes_of(image.type, shape))
    return wrong_value_error(encoding, "an array of uint8, (height, width) or (height, width, 1 to 4)");
  append(out, static_cast<std::uint32_t>(shape[1]));
  append(out, static_cast<std::uint32_t>(shape[0]));
  append(out, static_cast<std::uint32_t>(mode.size()));
  out += mode;
  append(out, image.bytes);
  return {};
}

Result<void> encode_list(const Encoding& encoding, std::span<const Field> elements, std::string& out) {
  if (elements.size() > kUint32Max) return encode_error("a list of 2^32 elements or more");
  std::string sizes, bytes;
  for (const Field& element : elements) {
    const std::size_t before = bytes.size();
    if (element.type == ElementType::kBytes) {
      append(bytes, element.bytes);
    } else {
      const auto encoded = element_kind(encoding) == EncodingKind::kPil
                               ? encode_pil(encoding, element, bytes)
                               : Result<void>(wrong_value_error(encoding, "bytes as its elements"));
      if (!encoded) return encoded;
    }
    append(sizes, static_cast<std::uint32_t>(bytes.size() - before));
  }
  if (encoding.kind == EncodingKind::kList) append(out, std::uint32_t{0});
  append(out, static_cast<std::uint32_t>(elements.size()));
  out += sizes + bytes;
  return {};
}

}  // namespace

Result<void> encode_value(const Encoding& encoding, const MdsValue& value, std::string& out) {
  const Field* const field = std::get_if<Field>(&value.get());
  if (field != nullptr && field->type == ElementType::kBytes) {
    if (encoding.size_bytes != 0 && field->bytes.size() != encoding.size_bytes) {
      return encode_error("'" + encoding.name + "' takes " + std::to_string(encoding.size_bytes) +
                          " bytes, but these are " + std::to_string(field->bytes.size()));
    }
    return append(out, field->bytes), Result<void>();
  }
  switch (encoding.kind) {
    case EncodingKind::kFixed:
      return encode_fixed(encoding, value, out);
    case EncodingKind::kText:
      return encode_text(encoding, value, out);
    case EncodingKind::kArray:
      return field != nullptr ? encode_array(encoding, *field, out) : wrong_value_error(encoding, "an array");
    case EncodingKind::kPil:
      return field != nullptr ? encode_pil(encoding, *field, out)
                              : wrong_value_error(encoding, "an array of uint8");
    case EncodingKind::kJpegArray:
    case EncodingKind::kList:
      if (const auto* elements = std::get_if<std::span<const Field>>(&value.get()))
        return encode_list(encoding, *elements, out);
      return wrong_value_error(encoding, "a list of fields");
    case EncodingKind::kBytes:
      break;
  }
  return encode_error("'" + encoding.name + "' takes bytes");
}

}  // namespace ratoon::mds
