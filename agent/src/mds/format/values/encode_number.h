// Encodes a number for a column whose values have one type.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/element_type.h>
#include <ratoon/result.h>

namespace ratoon::mds {

// Appends the number. Returns an error if the column's type cannot hold the value. A floating-point number is
// rounded to the nearest number of the type, and only overflow is an error.
[[nodiscard]] Result<void> encode_number(ElementType type, std::int64_t number, std::string& out);
[[nodiscard]] Result<void> encode_number(ElementType type, std::uint64_t number, std::string& out);
// `type` must be a floating-point type.
[[nodiscard]] Result<void> encode_number(ElementType type, double number, std::string& out);

}  // namespace ratoon::mds
