// A number as a column of one type has it.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/element_type.h>
#include <ratoon/result.h>

namespace ratoon::mds {

// Appends it. An error where the type cannot hold it; floats round to the nearest, and only overflow is
// refused.
[[nodiscard]] Result<void> encode_number(ElementType type, std::int64_t number, std::string& out);
[[nodiscard]] Result<void> encode_number(ElementType type, std::uint64_t number, std::string& out);
// `type` is a type of floats.
[[nodiscard]] Result<void> encode_number(ElementType type, double number, std::string& out);

}  // namespace ratoon::mds
