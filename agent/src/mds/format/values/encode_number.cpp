#include "agent/src/mds/format/values/encode_number.h"

#include <cmath>
#include <limits>
#include <utility>

#include "agent/src/mds/format/python_text.h"
#include "agent/src/mds/format/values/float16.h"

namespace ratoon::mds {
namespace {

Error out_of_range_error(const std::string& number) {
  return Error(ErrorKind::kInvalid, number + " is out of the range of its type");
}

template <class T>
void append_number(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T, class From>
Result<void> append_integer(From number, std::string& out) {
  if (!std::in_range<T>(number)) return out_of_range_error(std::to_string(number));
  append_number(out, static_cast<T>(number));
  return {};
}

Result<void> append_float(ElementType type, double number, std::string& out) {
  const bool is_finite = std::isfinite(number);
  if (type == ElementType::kFloat64) return append_number(out, number), Result<void>();
  if (type == ElementType::kFloat32) {
    if (is_finite &&
        (number > std::numeric_limits<float>::max() || number < std::numeric_limits<float>::lowest()))
      return out_of_range_error(format_python_float(number));
    return append_number(out, static_cast<float>(number)), Result<void>();
  }
  const std::uint16_t half = to_float16(number);
  if (is_finite && (half & 0x7fff) == 0x7c00) return out_of_range_error(format_python_float(number));
  return append_number(out, half), Result<void>();
}

template <class From>
Result<void> append_number(ElementType type, From number, std::string& out) {
  switch (type) {
    case ElementType::kUint8:
      return append_integer<std::uint8_t>(number, out);
    case ElementType::kInt8:
      return append_integer<std::int8_t>(number, out);
    case ElementType::kUint16:
      return append_integer<std::uint16_t>(number, out);
    case ElementType::kInt16:
      return append_integer<std::int16_t>(number, out);
    case ElementType::kUint32:
      return append_integer<std::uint32_t>(number, out);
    case ElementType::kInt32:
      return append_integer<std::int32_t>(number, out);
    case ElementType::kUint64:
      return append_integer<std::uint64_t>(number, out);
    case ElementType::kInt64:
      return append_integer<std::int64_t>(number, out);
    case ElementType::kFloat16:
    case ElementType::kFloat32:
    case ElementType::kFloat64:
    case ElementType::kBytes:
    case ElementType::kText:
    case ElementType::kBool:
    case ElementType::kBfloat16:
    case ElementType::kFloat8E4m3Fn:
    case ElementType::kFloat8E5m2:
    case ElementType::kComplex64:
      break;
  }
  return append_float(type, static_cast<double>(number), out);
}

}  // namespace

Result<void> encode_number(ElementType type, std::int64_t number, std::string& out) {
  return append_number(type, number, out);
}

Result<void> encode_number(ElementType type, std::uint64_t number, std::string& out) {
  return append_number(type, number, out);
}

Result<void> encode_number(ElementType type, double number, std::string& out) {
  return append_float(type, number, out);
}

}  // namespace ratoon::mds
