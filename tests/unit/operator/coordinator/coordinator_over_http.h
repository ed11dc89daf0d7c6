// The coordinator over real HTTP on loopback. Its clock stands still unless a test moves it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/contract/codec.h"
#include "base/contract/names.h"
#include "base/http/transport.h"
#include "operator/coordinator/coordinator.h"
#include "tests/support/operator_builders.h"

namespace ratoon::coordinator::testing_over_http {

using test::process;

struct Answer {
  int status = 0;
  std::string body;

  template <class T>
  [[nodiscard]] T as() const {
    const auto decoded = decode<T>(body);
    EXPECT_TRUE(decoded) << status << ": " << body;
    return decoded ? *decoded : T();
  }
};

class CoordinatorOverHttp : public testing::Test {
 protected:
  CoordinatorOverHttp() {
    serve({});
    // cpprestsdk makes its threads in the first call of a program, in a way that ThreadSanitizer does not
    // understand.
    EXPECT_EQ(post("/", "").status, 404);
  }
  ~CoordinatorOverHttp() override { server_->stop(); }

  void serve(http::ServerOptions options) {
    auto server = http::HttpServer::start(std::move(options),
                                          [this](http::ServerRequest request, http::Responder responder) {
                                            coordinator_.handle(request, std::move(responder));
                                          });
    EXPECT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
  }

  Answer post(std::string_view route, const std::string& body, const std::string& token = "secret",
              Duration patience = std::chrono::minutes(2), const std::string& method = "POST",
              std::stop_token stop = {}) {
    const http::Request request{
        .method = method,
        .url = "http://127.0.0.1:" + std::to_string(server_->port()) + std::string(route),
        .headers = {{"Authorization", "Bearer " + token}},
        .body = body};
    const auto response =
        transport_->call(request, {.total = patience, .silence = patience}, std::move(stop));
    return response ? Answer{response->status, response->body} : Answer{0, response.error().message()};
  }
  std::future<Answer> join(const JoinRequest& request) {
    return std::async(std::launch::async,
                      [this, request] { return post(names::route::kJoin, encode(request)); });
  }
  std::future<Answer> orders(const ProcessIdentity& who, std::uint64_t seen_revision) {
    return std::async(std::launch::async, [=, this] {
      return post(names::route::kOrders,
                  encode(OrdersRequest{.process = who, .seen_revision = seen_revision}));
    });
  }
  std::future<Answer> completed(const ProcessIdentity& who) {
    return std::async(std::launch::async, [=, this] {
      return post(names::route::kCompleted, encode(test::completed(who, 1, 400)));
    });
  }
  Answer beat(const Heartbeat& beat) { return post(names::route::kBeat, encode(beat)); }

  void announce(std::uint64_t attempt, std::vector<ProcessIdentity> current,
                std::vector<api::AssignedProcess> world = {}) {
    coordinator_.announce(test::job_key(), {.attempt = Attempt(attempt),
                                            .world = std::move(world),
                                            .current = std::move(current),
                                            .reason = "1 of 2 processes are ready"});
  }
  bool waits(const ProcessIdentity& who) {
    for (const auto& facts : coordinator_.processes(test::job_key()))
      if (facts.identity == who && facts.join_request) return true;
    return false;
  }
  // A received join is a new fact.
  void wait_until_heard(const ProcessIdentity& who) {
    for (int known = news_; !waits(who); known = news_) news_.wait(known);
  }

  ManualClock clock_{test::at_seconds(1000)};
  std::atomic<int> news_ = 0;
  Coordinator coordinator_{
      clock_,
      {.authenticate = [](std::string_view token, const ProcessIdentity&) -> Result<void> {
         if (token == "secret") return {};
         if (token == "unproved") return Error(ErrorKind::kUnavailable, "the API server is overloaded");
         return Error(ErrorKind::kPermissionDenied, "the token belongs to another run");
       },
       .on_change =
           [this](const JobKey&) {
             ++news_;
             news_.notify_all();
           },
       .long_poll_timeout = std::chrono::seconds(20)}};
  std::unique_ptr<http::HttpServer> server_;
  std::unique_ptr<http::HttpTransport> transport_ = http::make_transport();
};

}  // namespace ratoon::coordinator::testing_over_http
