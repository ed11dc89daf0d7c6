// The address under which processes on other machines reach this process.
#pragma once

#include <string>

#include <ifaddrs.h>

namespace ratoon::session {

// The first address of an interface that is up and is neither loopback nor link-local; IPv4 before IPv6. A
// machine talks to its own management controller by link-local addresses (169.254/16, fe80::/10). The value
// is empty if there is no such address.
[[nodiscard]] std::string find_own_address();
// Does the same for the given interfaces.
[[nodiscard]] std::string pick_own_address(const ifaddrs* interfaces);

}  // namespace ratoon::session
