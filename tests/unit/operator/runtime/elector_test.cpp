// The elector's calls, on an API server that is overloaded.
#include "operator/runtime/leader/elector.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::runtime::elector_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// Holds one lease. The first renewal is refused: call again in five seconds.
class LeaseServer {
 public:
  http::Response answer(const http::Request& request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request.method);
    changed_.notify_all();
    if (request.method == "GET" && lease_.is_null()) return {.status = 404, .headers = {}, .body = "{}"};
    const auto renewals = std::ranges::count(asked_, "PATCH");
    if (request.method == "PATCH" && renewals == 1)
      return {.status = 429, .headers = {{"Retry-After", "5"}}, .body = "{}"};
    if (request.method != "GET") {
      if (lease_.is_null()) lease_ = json::object();
      lease_.merge_patch(json::parse(request.body));
      lease_["metadata"]["resourceVersion"] = std::to_string(asked_.size());
    }
    return {.status = 200, .headers = {}, .body = lease_.dump()};
  }
  // The requests until the second renewal.
  std::vector<std::string> wait_for_second_renewal() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return std::ranges::count(asked_, "PATCH") >= 2; });
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  json lease_;
  std::vector<std::string> asked_;
};

class TransportTo final : public http::HttpTransport {
 public:
  explicit TransportTo(LeaseServer& server) : server_(server) {}

  Result<http::Response> call(const http::Request& request, const http::Limits&, std::stop_token) override {
    return server_.answer(request);
  }
  Result<http::ResponseHead> stream(const http::Request&, const http::Limits&, http::BodySink&,
                                    std::stop_token) override {
    return Error(ErrorKind::kUnavailable, "a lease is not watched");
  }

 private:
  LeaseServer& server_;
};

// Four seconds are all that a leader has, and the server asks for five.
TEST(Elector, ARenewalThatIsPutOffIsNotWaitedFor) {
  LeaseServer server;
  ManualClock clock{Timestamp{1h}};
  const ApiClient client({.server = "https://127.0.0.1:1"}, clock, {}, nullptr,
                         std::make_unique<TransportTo>(server));
  Fence fence;
  Elector elector(client, clock, Logger(clock, {}), fence,
                  {.name_space = "n", .self = {.identity = "one"}, .times = {.lease = 0s, .retry = 1ms}});
  const auto asked = server.wait_for_second_renewal();
  const auto refused = std::ranges::find(asked, "PATCH");
  EXPECT_EQ(*std::next(refused), "GET") << "it looks who leads, and does not sleep";
  EXPECT_FALSE(elector.is_lost());
}

}  // namespace
}  // namespace ratoon::runtime::elector_test
