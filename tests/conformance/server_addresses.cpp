// HttpServer at every address of a machine, with IPv6 and without.
#include <atomic>
#include <cerrno>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/unique_fd.h"
#include "tests/conformance/support/server_tests.h"

namespace {

std::atomic<bool> has_no_ipv6{false};

}  // namespace

// Replaces the function of the C library: a kernel that was booted without IPv6 refuses the address family.
extern "C" int socket(int domain, int type, int protocol) noexcept {
  if (domain == AF_INET6 && has_no_ipv6) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}

namespace ratoon::http::testing {
namespace {

void tell_peer(const ServerRequest& request, Responder responder) {
  responder.send({.body = request.peer});
}

// The client's address that the server sees over IPv6; nothing if no server answers.
std::string answer_over_ipv6(const HttpServer& server) {
  UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(server.port());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  RawSocket client(std::move(fd));
  client.send(kGet);
  client.close_writing();
  return client.read_to_end();
}

class ServerAddresses : public ::testing::Test {
 protected:
  ~ServerAddresses() override { has_no_ipv6 = false; }

  static bool is_ipv6_here() { return HttpServer::start({.address = "::1"}, &tell_peer).has_value(); }
};

TEST_F(ServerAddresses, EveryOneIsReachedOverIpv4AndIpv6) {
  if (!is_ipv6_here()) GTEST_SKIP() << "no IPv6 on loopback here";
  const auto server = HttpServer::start({.address = kEveryAddress}, &tell_peer);
  ASSERT_TRUE(server) << server.error().message();
  EXPECT_THAT(answer_over_ipv6(**server), HasSubstr("[::1]:"));
  EXPECT_THAT(talk(**server, kGet), HasSubstr("\r\n127.0.0.1:")) << "an address of IPv4 is named as one";
}

TEST_F(ServerAddresses, EveryOneIsThatOfIpv4WhereThereIsNoOther) {
  has_no_ipv6 = true;
  const auto server = HttpServer::start({.address = kEveryAddress}, &tell_peer);
  ASSERT_TRUE(server) << server.error().message();
  EXPECT_THAT(talk(**server, kGet), HasSubstr("\r\n127.0.0.1:"));
}

TEST_F(ServerAddresses, OneOfIpv6IsNotReplacedByAnother) {
  has_no_ipv6 = true;
  EXPECT_FALSE(HttpServer::start({.address = "::1"}, &tell_peer));
}

}  // namespace
}  // namespace ratoon::http::testing
