#include "operator/runtime/metrics/metrics_page.h"

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/http/transport.h"

namespace ratoon::runtime::metrics_page_test {
namespace {

using namespace std::chrono_literals;

class MetricsPageTest : public testing::Test {
 protected:
  MetricsPageTest() {
    // cpprestsdk makes its threads in the first call of a program, in a way that ThreadSanitizer does not
    // understand.
    EXPECT_EQ(get("/healthz").status, 200);
  }
  ~MetricsPageTest() override {
    open_gate();
    server_->stop();
  }

  // As from that address.
  http::Response get(const std::string& path, const std::string& from = "10.0.0.1") {
    const http::Request request{.method = "GET",
                                .url = "http://127.0.0.1:" + std::to_string(server_->port()) + path,
                                .headers = {{"X-From", from + ":1"}},
                                .body = {}};
    const auto response = transport_->call(request, {.total = 10s, .silence = 10s}, {});
    return response ? *response : http::Response{.status = 0};
  }

  // No text continues until the gate opens, as if a reader took nothing.
  void write(const MetricsPage::Sink& sink) {
    if (!sink("a 1\n")) return;
    std::unique_lock lock(mutex_);
    ++reading_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    lock.unlock();
    sink("b 2\n");
  }
  void wait_for_readers(int number) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 2min, [&] { return reading_ == number; }));
  }
  void open_gate() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  int reading_ = 0;
  MetricsPage page_{[this](const MetricsPage::Sink& sink) { write(sink); }};
  std::unique_ptr<http::HttpTransport> transport_ = http::make_transport();
  // As many threads as the page may block, and one that answers other callers.
  std::unique_ptr<http::HttpServer> server_ = *http::HttpServer::start(
      {.threads = MetricsPage::kReadersMax + 1},
      [this](const http::ServerRequest& request, http::Responder responder) {
        if (request.path == "/metrics")
          return page_.show(std::string(request.headers.get("X-From")), std::move(responder));
        responder.send({.status = 200});
      });
};

TEST_F(MetricsPageTest, SlowReadersBeyondAFewAreToAskAgainAndHoldNoThread) {
  std::vector<std::future<http::Response>> readers;
  for (int i = 0; i < MetricsPage::kReadersMax; ++i)
    readers.push_back(std::async(std::launch::async, [this, from = "10.0.0." + std::to_string(i % 2)] {
      return get("/metrics", from);
    }));
  wait_for_readers(MetricsPage::kReadersMax);
  for (int i = 0; i < 3; ++i) {
    const auto refused = get("/metrics", "10.0.0.3");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.headers.get("Retry-After"), "5");
  }
  EXPECT_EQ(get("/healthz").status, 200);
  open_gate();
  for (auto& reader : readers) EXPECT_EQ(reader.get().body, "a 1\nb 2\n");
  http::Response again;
  do again = get("/metrics");  // a place is given back just after its reply
  while (again.status == 503);
  EXPECT_EQ(again.body, "a 1\nb 2\n") << "places are given back";
}

TEST_F(MetricsPageTest, SlowReadersOfOneAddressLeaveAPlaceForAScraper) {
  std::vector<std::future<http::Response>> readers;
  for (int i = 0; i < MetricsPage::kReadersPerAddressMax; ++i)
    readers.push_back(std::async(std::launch::async, [this] { return get("/metrics", "10.0.0.1"); }));
  wait_for_readers(MetricsPage::kReadersPerAddressMax);
  EXPECT_EQ(get("/metrics", "10.0.0.1").status, 503);
  auto scraper = std::async(std::launch::async, [this] { return get("/metrics", "10.0.0.2"); });
  wait_for_readers(MetricsPage::kReadersPerAddressMax + 1);
  open_gate();
  EXPECT_EQ(scraper.get().body, "a 1\nb 2\n");
  for (auto& reader : readers) EXPECT_EQ(reader.get().body, "a 1\nb 2\n");
}

}  // namespace
}  // namespace ratoon::runtime::metrics_page_test
