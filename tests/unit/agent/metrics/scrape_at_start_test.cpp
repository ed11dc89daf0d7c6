// A scraper that asks while a session begins: the first page has all series.
#include <array>
#include <atomic>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ratoon/train.h>

#include "base/core/unique_fd.h"
#include "tests/support/own_ports.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::metrics::scrape_at_start_test {
namespace {

using testing::HasSubstr;

constexpr int kStarts = 3;

// The whole answer of the server that listens at the port. The scraper asks without a pause, and at first no
// server listens.
std::string ask(const std::stop_token& stop, std::uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  while (!stop.stop_requested()) {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) continue;
    const std::string_view request = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) continue;
    std::string answer;
    std::array<char, 4096> piece{};
    for (ssize_t got = 0; (got = ::recv(fd.get(), piece.data(), piece.size(), 0)) > 0;)
      answer.append(piece.data(), static_cast<std::size_t>(got));
    return answer;
  }
  return "";
}

class ScrapeAtStart : public testing::Test {
 protected:
  // Until this session's page appears, or a stop is requested.
  void scrape(const std::stop_token& stop, std::uint32_t port, const std::string& job) {
    while (!stop.stop_requested() && !has_page_) {
      std::string page = ask(stop, port);
      if (page.find("training_job=\"" + job + "\"") == std::string::npos) continue;
      page_ = std::move(page);
      has_page_ = true;
      has_page_.notify_all();
    }
  }

  // False if the port belongs to another process.
  bool begin_scraped(std::uint32_t port) {
    const std::string job = "scraped-at-" + std::to_string(port);
    Options options{.save_folder = folder_.path().string(), .run_name = job, .member = {}};
    options.member.job_name = job;
    options.member.metrics_port = port;
    has_page_ = false;
    std::jthread scraper([&](const std::stop_token& stop) { scrape(stop, port, job); });
    bool is_open = false;
    const int code = train(options, [&](Session& session) {
      is_open = test::own_ports().contains(static_cast<std::uint16_t>(port));
      if (is_open) has_page_.wait(false);
      std::uint64_t steps = 0;
      session.track("steps", steps);
      for ([[maybe_unused]] const std::uint64_t step : session.steps(1)) ++steps;
    });
    EXPECT_EQ(code, 0);
    return is_open;
  }

  test::TemporaryFolder folder_;
  std::atomic<bool> has_page_ = false;
  std::string page_;  // of the scraper until has_page_
};

TEST_F(ScrapeAtStart, SeesInTheFirstPageWhereTheTimeWent) {
  int starts = 0;
  for (std::uint32_t port = test::first_port(); starts < kStarts; ++port) {
    if (!begin_scraped(port)) continue;
    ++starts;
    EXPECT_THAT(page_, HasSubstr("\nratoon_ledger_seconds_total{"));
    EXPECT_THAT(page_, HasSubstr("\nratoon_rejoins_total{"));
  }
}

}  // namespace
}  // namespace ratoon::metrics::scrape_at_start_test
