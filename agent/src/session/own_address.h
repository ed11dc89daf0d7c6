// The address under which processes on other machines reach this one.
#pragma once

#include <string>

namespace ratoon::session {

// The first address of an interface that is up, neither loopback nor of this link alone; IPv4 before IPv6.
// Empty: there is none.
[[nodiscard]] std::string find_own_address();

}  // namespace ratoon::session
