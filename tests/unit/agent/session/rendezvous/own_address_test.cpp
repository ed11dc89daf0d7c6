#include "agent/src/session/rendezvous/own_address.h"

#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>

namespace ratoon::session::own_address_test {
namespace {

struct Interface {
  const char* address;
  unsigned flags = IFF_UP;
};

std::string pick(const std::vector<Interface>& interfaces) {
  std::vector<sockaddr_storage> addresses(interfaces.size());
  std::vector<ifaddrs> list(interfaces.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&addresses[i]);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&addresses[i]);
    const bool is_v4 = ::inet_pton(AF_INET, interfaces[i].address, &v4->sin_addr) == 1;
    EXPECT_TRUE(is_v4 || ::inet_pton(AF_INET6, interfaces[i].address, &v6->sin6_addr) == 1);
    addresses[i].ss_family = is_v4 ? AF_INET : AF_INET6;
    list[i].ifa_addr = reinterpret_cast<sockaddr*>(&addresses[i]);
    list[i].ifa_flags = interfaces[i].flags;
    if (i > 0) list[i - 1].ifa_next = &list[i];
  }
  return pick_own_address(list.empty() ? nullptr : list.data());
}

TEST(OwnAddress, IsNoneThatReachesThisMachineOrItsLinkAlone) {
  EXPECT_EQ(pick({{"127.0.0.1", IFF_UP | IFF_LOOPBACK}, {"169.254.3.1"}, {"10.0.0.7"}}), "10.0.0.7");
  EXPECT_EQ(pick({{"169.254.3.1"}, {"fe80::1"}, {"fd00::7"}}), "fd00::7");
  EXPECT_EQ(pick({{"169.254.3.1"}, {"fe80::1"}}), "");
  EXPECT_EQ(pick({{"169.253.255.255"}}), "169.253.255.255");
  EXPECT_EQ(pick({{"169.255.0.1"}}), "169.255.0.1");
}

TEST(OwnAddress, IsOfAnInterfaceThatIsUpAndOfIPv4WhereThereIsOne) {
  EXPECT_EQ(pick({{"10.0.0.7", 0}, {"10.0.0.8"}, {"10.0.0.9"}}), "10.0.0.8");
  EXPECT_EQ(pick({{"fd00::7"}, {"10.0.0.8"}}), "10.0.0.8");
  EXPECT_EQ(pick({}), "");
}

}  // namespace
}  // namespace ratoon::session::own_address_test
