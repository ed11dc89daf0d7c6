// Finds the IP address at which processes on other machines can reach this process.
#pragma once

#include <string>

#include <ifaddrs.h>

namespace ratoon::session {

// Returns the first address of an interface that is up, and that is neither loopback nor link-local. IPv4
// addresses are preferred to IPv6 addresses. Link-local addresses (169.254/16, fe80::/10) are excluded
// because machines use them for their management controllers. Returns an empty text if the machine has only
// loopback and link-local addresses.
[[nodiscard]] std::string find_own_address();
// Chooses an address among `interfaces`, as find_own_address() does.
[[nodiscard]] std::string pick_own_address(const ifaddrs* interfaces);

}  // namespace ratoon::session
