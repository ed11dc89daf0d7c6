#include "agent/src/mds/format/values/array_header.h"

#include <limits>
#include <string>
#include <utility>

#include "agent/src/mds/format/little_endian.h"

namespace ratoon::mds {
namespace {

constexpr std::array<std::pair<std::uint8_t, ElementType>, 11> kTypeCodes{{
    {8, ElementType::kUint8},
    {9, ElementType::kInt8},
    {16, ElementType::kUint16},
    {17, ElementType::kInt16},
    {18, ElementType::kFloat16},
    {32, ElementType::kUint32},
    {33, ElementType::kInt32},
    {34, ElementType::kFloat32},
    {64, ElementType::kUint64},
    {65, ElementType::kInt64},
    {66, ElementType::kFloat64},
}};

Error corrupted_array(const std::string& what) {
  return Error(ErrorKind::kCorrupted, "not a valid array: " + what);
}

std::uint64_t read_length(const std::byte* at, unsigned code) {
  switch (code) {
    case 0:
      return read_little_endian<std::uint8_t>(at);
    case 1:
      return read_little_endian<std::uint16_t>(at);
    case 2:
      return read_little_endian<std::uint32_t>(at);
    default:
      return read_little_endian<std::uint64_t>(at);
  }
}

// Returns true if the number of value bytes is the product of the lengths of the shape and the size of the
// type. Returns false if a length of the shape is 0 or the product of the lengths overflows.
bool values_match_shape(const DecodedArray& array) {
  std::uint64_t expected = size_of(array.type);
  for (const std::uint64_t length : array.shape()) {
    if (length == 0 || length > std::numeric_limits<std::uint32_t>::max()) return false;
    expected *= length;
    if (expected > array.values.size()) return false;
  }
  return expected == array.values.size();
}

}  // namespace

std::uint8_t array_type_code(ElementType type) {
  for (const auto& [code, known] : kTypeCodes) {
    if (known == type) return code;
  }
  return 0;
}

Result<DecodedArray> read_array(ElementType type, std::span<const std::byte> bytes) {
  DecodedArray array;
  array.type = type;
  if (type == ElementType::kBytes) {
    if (bytes.empty()) return corrupted_array("the array has no byte for its type");
    for (const auto& [code, known] : kTypeCodes) {
      if (std::byte{code} == bytes[0]) array.type = known;
    }
    if (array.type == ElementType::kBytes)
      return corrupted_array("there is no type " + std::to_string(std::to_integer<unsigned>(bytes[0])));
    bytes = bytes.subspan(1);
  }
  if (bytes.empty()) return corrupted_array("the array has no byte for its number of dimensions");
  const auto word = std::to_integer<unsigned>(bytes[0]);
  array.dimensions = static_cast<std::uint8_t>(word >> 2);
  if (array.dimensions == 0) return corrupted_array("the array has no dimension");
  const std::size_t item_bytes = std::size_t{1} << (word & 3);
  const std::size_t shape_bytes = array.dimensions * item_bytes;
  if (bytes.size() - 1 < shape_bytes) return corrupted_array("the array ends inside its shape");
  for (std::size_t i = 0; i < array.dimensions; ++i)
    array.lengths[i] = read_length(bytes.data() + 1 + i * item_bytes, word & 3);
  array.values = bytes.subspan(1 + shape_bytes);
  if (!values_match_shape(array))
    return corrupted_array("the shape of the array does not match its " +
                           std::to_string(array.values.size()) + " bytes of values");
  return array;
}

}  // namespace ratoon::mds
