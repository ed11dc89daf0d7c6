#include "operator/runtime/metrics/health_port.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/support/raw_socket.h"

namespace ratoon::runtime::health_port_test {
namespace {

using http::testing::RawSocket;

constexpr const char* kProbe = "GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";

std::unique_ptr<http::HttpServer> start_port() {
  return *http::HttpServer::start(options_of_health_port(0), [](const auto&, http::Responder responder) {
    responder.send({.status = 200, .body = "ok\n"});
  });
}

// One pod opens connections and sends nothing; each of the node's probes is a connection of its own.
TEST(HealthPort, ProbesAreAnsweredWhileAnAddressKeepsConnectionsOpen) {
  constexpr std::size_t kFlood = 600;
  const auto server = start_port();
  auto scraper = RawSocket::connect_to(server->port(), "127.0.0.3");
  scraper.send("GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_TRUE(scraper.read_until("ok\n").starts_with("HTTP/1.1 200"));
  std::vector<RawSocket> flood;
  for (std::size_t i = 0; i < kFlood; ++i)
    flood.push_back(RawSocket::connect_to(server->port(), "127.0.0.2"));
  for (int probe = 0; probe < 3; ++probe) {
    auto kubelet = RawSocket::connect_to(server->port(), "127.0.0.4");
    kubelet.send(kProbe);
    EXPECT_TRUE(kubelet.read_to_end().starts_with("HTTP/1.1 200")) << "probe " << probe;
  }
  for (std::size_t i = 0; i < kFlood / 2; ++i) {
    flood[i].read_to_end();
    EXPECT_TRUE(flood[i].has_ended()) << "connection " << i << " kept its place";
  }
  scraper.send("GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_TRUE(scraper.read_until("ok\n").starts_with("HTTP/1.1 200")) << "it lost its connection";
}

// Half a head, and a head whose body does not come.
TEST(HealthPort, ProbesAreAnsweredBesideClientsThatSendHalfARequest) {
  const auto server = start_port();
  std::vector<RawSocket> clients;
  for (const char* half : {"GET /metrics HTTP/1.1\r\nHost: t\r\nX: ",
                           "POST /metrics HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n{"}) {
    for (int i = 0; i < 300; ++i) {
      clients.push_back(RawSocket::connect_to(server->port(), "127.0.0.2"));
      static_cast<void>(clients.back().send(half));  // it may have lost its place already
    }
    for (const char* from : {"127.0.0.2", "127.0.0.4"}) {
      auto kubelet = RawSocket::connect_to(server->port(), from);
      kubelet.send(kProbe);
      EXPECT_TRUE(kubelet.read_to_end().starts_with("HTTP/1.1 200")) << from;
    }
  }
}

TEST(HealthPort, APageThatIsReadSlowlyHasAnEnd) {
  const auto options = options_of_health_port(0);
  ASSERT_TRUE(options.reply_deadline);
  EXPECT_LT(*options.reply_deadline, Duration(std::chrono::minutes(2)));
  EXPECT_EQ(options.unauthenticated_deadline, options.idle_deadline);
}

}  // namespace
}  // namespace ratoon::runtime::health_port_test
