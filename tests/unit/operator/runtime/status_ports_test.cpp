#include "operator/runtime/metrics/status_ports.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/support/raw_socket.h"

namespace ratoon::runtime::status_ports_test {
namespace {

using http::testing::RawSocket;

constexpr const char* kProbe = "GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";

std::unique_ptr<http::HttpServer> start_port() {
  return *http::HttpServer::start(options_of_metrics_port(0), [](const auto&, http::Responder responder) {
    responder.send({.status = 200, .body = "ok\n"});
  });
}

// One pod opens connections and sends nothing; each of the node's probes is a connection of its own.
TEST(StatusPorts, ProbesAreAnsweredWhileAnAddressKeepsConnectionsOpen) {
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
TEST(StatusPorts, ProbesAreAnsweredBesideClientsThatSendHalfARequest) {
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

TEST(StatusPorts, ProbesHaveAPortOfTheirOwnWithTheReason) {
  std::string problem = "the lists are old";
  const auto server = *open_probe_port(0, [&problem] { return problem; });
  const auto ask = [&server](const std::string& path) {
    auto kubelet = RawSocket::connect_to(server->port(), "127.0.0.4");
    kubelet.send("GET " + path + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    return kubelet.read_to_end();
  };
  std::vector<RawSocket> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(RawSocket::connect_to(server->port(), "127.0.0.2"));
  EXPECT_TRUE(ask("/healthz").starts_with("HTTP/1.1 200"));
  const std::string refused = ask("/readyz");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503"));
  EXPECT_TRUE(refused.ends_with("the lists are old\n"));
  problem.clear();
  EXPECT_TRUE(ask("/readyz").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(ask("/metrics").starts_with("HTTP/1.1 404"));
  EXPECT_LE(options_of_probe_port(0).unauthenticated_deadline, Duration(std::chrono::seconds(10)))
      << "connections are short";
}

TEST(StatusPorts, APageThatIsReadSlowlyHasAnEnd) {
  const auto options = options_of_metrics_port(0);
  ASSERT_TRUE(options.reply_deadline);
  EXPECT_LT(*options.reply_deadline, Duration(std::chrono::minutes(2)));
  EXPECT_EQ(options.unauthenticated_deadline, options.idle_deadline);
}

}  // namespace
}  // namespace ratoon::runtime::status_ports_test
