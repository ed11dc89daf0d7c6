// A free port of this machine's loopback interface, for programs that receive a port and bind it.
#pragma once

#include <cstdint>

#include <ratoon/result.h>

namespace ratoon::local {

// The port is not reserved, but the kernel assigns other ports to other programs for a while.
[[nodiscard]] Result<std::uint16_t> find_free_port();

}  // namespace ratoon::local
