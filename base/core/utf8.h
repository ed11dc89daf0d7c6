// Whether bytes are UTF-8 as Python reads it: no surrogates, no overlong forms, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <span>

namespace ratoon {

[[nodiscard]] bool is_utf8(std::span<const std::byte> bytes);

}  // namespace ratoon
