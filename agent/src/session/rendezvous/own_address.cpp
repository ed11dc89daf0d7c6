#include "agent/src/session/rendezvous/own_address.h"

#include <array>
#include <cstdint>
#include <memory>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

namespace ratoon::session {
namespace {

bool is_link_local(const in_addr& v4) {
  constexpr std::uint32_t kNetwork = 0xA9FE0000;  // 169.254/16
  return (ntohl(v4.s_addr) & 0xFFFF0000) == kNetwork;
}

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    if (is_link_local(v4->sin_addr)) return "";
    ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
  } else if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) return "";
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
  }
  return text.data();
}

}  // namespace

std::string find_own_address() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(first, ::freeifaddrs);
  return pick_own_address(first);
}

std::string pick_own_address(const ifaddrs* interfaces) {
  std::string v6;
  for (const ifaddrs* at = interfaces; at != nullptr; at = at->ifa_next) {
    const bool is_of_use =
        at->ifa_addr != nullptr && (at->ifa_flags & IFF_UP) != 0U && (at->ifa_flags & IFF_LOOPBACK) == 0U;
    const std::string text = is_of_use ? address_text(at->ifa_addr) : std::string();
    if (text.empty()) continue;
    if (at->ifa_addr->sa_family == AF_INET) return text;
    if (v6.empty()) v6 = text;
  }
  return v6;
}

}  // namespace ratoon::session
