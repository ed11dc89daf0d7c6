// A port of this machine's loopback on which nothing listens, for programs that are told one and bind it.
#pragma once

#include <cstdint>

#include <ratoon/result.h>

namespace ratoon::local {

// Nobody keeps it free; the kernel gives others a different one for a good while.
[[nodiscard]] Result<std::uint16_t> find_free_port();

}  // namespace ratoon::local
