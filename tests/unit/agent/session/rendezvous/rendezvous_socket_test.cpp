// The socket where ranks would meet: bound to the pod's own address, and listening before its address is
// published.
#include "agent/src/session/rendezvous/rendezvous_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace ratoon::session::rendezvous_socket_test {
namespace {

TEST(RendezvousSocket, TakesAddressesApartAndPutsThemTogether) {
  for (const auto& [text, parts] : {std::pair<const char*, HostPort>{"10.0.0.7:29400", {"10.0.0.7", 29400}},
                                    {"[fd00::7]:1", {"fd00::7", 1}},
                                    {"node-3:65535", {"node-3", 65535}}}) {
    EXPECT_EQ(split_address(text), parts);
    EXPECT_EQ(format_address(parts), text);
  }
}

TEST(RendezvousSocket, ListensOnLoopbackAlone) {
  const auto socket = open_rendezvous_socket("");
  ASSERT_TRUE(socket) << socket.error().message();
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ASSERT_EQ(::getsockname(socket->fd.get(), reinterpret_cast<sockaddr*>(&bound), &size), 0);
  EXPECT_EQ(bound.sin_addr.s_addr, htonl(INADDR_LOOPBACK))
      << "nothing of a local run can be reached from outside";
  EXPECT_EQ(ntohs(bound.sin_port), socket->at.port);
  int listens = 0;
  size = sizeof listens;
  ASSERT_EQ(::getsockopt(socket->fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
  EXPECT_EQ(listens, 1);
}

TEST(RendezvousSocket, ListensAtThePodsAddress) {
  const auto socket = open_rendezvous_socket("127.0.0.5");
  ASSERT_TRUE(socket) << socket.error().message();
  EXPECT_EQ(socket->at.host, "127.0.0.5");
  EXPECT_GT(socket->at.port, 0);
}

TEST(RendezvousSocket, SaysWhichAddressItCannotTake) {
  const auto name = open_rendezvous_socket("pod-7");
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().message(),
            "RATOON_POD_IP must be the IP address of this pod (status.podIP), found 'pod-7'");
  const auto other = open_rendezvous_socket("203.0.113.9");  // of nobody
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), testing::HasSubstr("203.0.113.9"));
}

}  // namespace
}  // namespace ratoon::session::rendezvous_socket_test
