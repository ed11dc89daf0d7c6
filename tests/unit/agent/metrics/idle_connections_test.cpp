// /metrics while other clients hold connections: a scraper is answered, and the process holds few
// descriptors.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/metrics/endpoint.h"
#include "tests/conformance/support/raw_socket.h"
#include "tests/support/own_ports.h"

namespace ratoon::metrics::idle_connections_test {
namespace {

using http::testing::RawSocket;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kScrape = "GET /metrics HTTP/1.1\r\nHost: t\r\n\r\n";
constexpr const char* kEndOfPage = "ratoon_step_seconds_count";
constexpr std::size_t kClients = 200;
constexpr std::size_t kPlaces = 64;  // more than the endpoint keeps

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += entry.exists() ? 1 : 0;
  return count;
}

class IdleConnections : public testing::Test {
 protected:
  IdleConnections() {
    endpoint_ = test::open_at_own_port([this](std::uint16_t port) {
      MemberOptions options;
      options.metrics_port = port;
      return open_endpoint(options, meters_, logger_);
    });
  }

  // Connections that have sent `bytes`, and whose clients wait.
  void open_clients(const std::string& bytes, std::vector<RawSocket>& clients) const {
    for (std::size_t i = 0; i < kClients; ++i) {
      clients.push_back(RawSocket::connect_to(endpoint_->port()));
      if (!bytes.empty())
        static_cast<void>(clients.back().send(bytes));  // it may have lost its place already
    }
  }

  void expect_answer(const char* from) const {
    auto scraper = RawSocket::connect_to(endpoint_->port(), from);
    ASSERT_TRUE(scraper.send(kScrape));
    const std::string page = scraper.read_until(kEndOfPage);
    EXPECT_THAT(page, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(page, HasSubstr(kEndOfPage));
  }

  SystemClock clock_;
  Logger logger_{clock_, {.format = LogFormat::kText}};
  Meters meters_;
  std::unique_ptr<Endpoint> endpoint_;
};

TEST_F(IdleConnections, ScrapersAreAnsweredBesideClientsThatSendNothing) {
  ASSERT_NE(endpoint_, nullptr);
  std::vector<RawSocket> clients;
  open_clients("", clients);
  expect_answer("127.0.0.1");  // of the same address as the others
  expect_answer("127.0.0.2");
}

TEST_F(IdleConnections, ScrapersAreAnsweredBesideClientsThatSendHalfARequest) {
  ASSERT_NE(endpoint_, nullptr);
  std::vector<RawSocket> clients;
  open_clients("GET /metrics HTTP/1.1\r\nHost: t\r\nX-Long: ", clients);
  open_clients("POST /metrics HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n{", clients);
  expect_answer("127.0.0.1");
  expect_answer("127.0.0.2");
}

TEST_F(IdleConnections, AScraperKeepsItsConnectionWhileOthersOpenMany) {
  ASSERT_NE(endpoint_, nullptr);
  auto scraper = RawSocket::connect_to(endpoint_->port(), "127.0.0.3");
  ASSERT_TRUE(scraper.send(kScrape));
  EXPECT_THAT(scraper.read_until(kEndOfPage), StartsWith("HTTP/1.1 200"));
  std::vector<RawSocket> clients;
  open_clients("", clients);
  expect_answer("127.0.0.2");
  ASSERT_TRUE(scraper.send(kScrape));
  EXPECT_THAT(scraper.read_until(kEndOfPage), HasSubstr("HTTP/1.1 200")) << "it lost its connection";
}

TEST_F(IdleConnections, TakeFewDescriptors) {
  ASSERT_NE(endpoint_, nullptr);
  const std::size_t before = open_descriptors();
  std::vector<RawSocket> clients;
  open_clients("GET /metrics", clients);
  expect_answer("127.0.0.2");
  // The oldest connections have been closed when their clients read the end of their connections.
  for (std::size_t i = 0; i < kClients - kPlaces; ++i) {
    static_cast<void>(clients[i].read_to_end());
    ASSERT_TRUE(clients[i].has_ended()) << "connection " << i << " kept its place";
  }
  EXPECT_LE(open_descriptors(), before + kClients + kPlaces);
}

}  // namespace
}  // namespace ratoon::metrics::idle_connections_test
