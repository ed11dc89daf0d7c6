// The address under which processes on other machines reach this one.
#pragma once

#include <string>

#include <ifaddrs.h>

namespace ratoon::session {

// The first address of an interface that is up, neither loopback nor of its link alone, as those are by which
// a machine talks to its own management controller (169.254/16, fe80::/10); IPv4 before IPv6. Empty: there is
// none.
[[nodiscard]] std::string find_own_address();
// The same among these.
[[nodiscard]] std::string pick_own_address(const ifaddrs* interfaces);

}  // namespace ratoon::session
