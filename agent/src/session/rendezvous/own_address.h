// Finds the address at which processes on other machines reach this process.
#pragma once

#include <string>

#include <ifaddrs.h>

namespace ratoon::session {

// Returns the first address, IPv4 before IPv6, of an interface that is up, and neither loopback nor
// link-local. A machine uses link-local addresses (169.254/16, fe80::/10) for its own management controller.
// Returns an empty text if the machine has no such address.
[[nodiscard]] std::string find_own_address();
// Chooses an address among `interfaces`, as find_own_address() does.
[[nodiscard]] std::string pick_own_address(const ifaddrs* interfaces);

}  // namespace ratoon::session
