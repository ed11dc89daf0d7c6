// Finds a free port of the loopback interface, for programs that get a port number and then bind it.
#pragma once

#include <cstdint>

#include <ratoon/result.h>

namespace ratoon {

// Returns a free port without reserving it; for a while, the kernel gives this port to no other program.
[[nodiscard]] Result<std::uint16_t> find_free_port();

}  // namespace ratoon
