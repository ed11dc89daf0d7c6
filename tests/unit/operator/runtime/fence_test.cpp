#include "operator/runtime/leader/fence.h"

#include <atomic>
#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/http/server.h"
#include "operator/runtime/api_server/api_client.h"

namespace ratoon::runtime::fence_test {
namespace {

using std::chrono::seconds;

const kube::ObjectReference kPod{.resource = kube::kPods, .name_space = "n", .name = "p"};

class FencedClient : public testing::Test {
 protected:
  FencedClient()
      : server_(http::HttpServer::start({}, [this](const http::ServerRequest&, http::Responder responder) {
                  ++calls_;
                  responder.send(
                      {.status = refusals_ > 0 ? 503 : 200, .headers = {{"Retry-After", "1"}}, .body = "{}"});
                  if (refusals_ > 0) --refusals_;
                }).value()) {}

  [[nodiscard]] kube::ApiServerAccess access() const {
    return {.server = "http://127.0.0.1:" + std::to_string(server_->port())};
  }

  ManualClock clock_{Timestamp{seconds(100)}};
  Fence fence_;
  std::atomic<int> calls_{0};
  std::atomic<int> refusals_{0};
  std::unique_ptr<http::HttpServer> server_;
};

TEST_F(FencedClient, SendsNoWriteAfterItsTimeAndReadsGoOn) {
  const ApiClient client(access(), clock_, {}, &fence_);
  fence_.open_until(clock_.now() + seconds(4));
  EXPECT_TRUE(client.call(kube::create(kPod, {}), {}));
  clock_.advance(seconds(4));
  for (const auto& write :
       {kube::create(kPod, {}), kube::remove(kPod, "u", 1), kube::make_patch_request(kPod, {}),
        kube::make_status_patch_request(kPod, "1", {})}) {
    const auto done = client.call(write, {});
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message().find("no longer leads"), std::string::npos);
  }
  EXPECT_EQ(calls_, 1);
  EXPECT_TRUE(client.call(kube::get(kPod), {}));
  EXPECT_EQ(calls_, 2);
}

// A pause of five seconds in this call would hold a worker, or the lease, for as long.
TEST_F(FencedClient, ReportsAPauseThatTheServerAsksForAndDoesNotSleep) {
  const ApiClient client(access(), clock_, {}, nullptr);
  refusals_ = 1;
  std::optional<kube::ApiFailure> refusal;
  const auto refused = client.call(*kube::create(kPod, {}), {}, seconds(30), refusal);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->requested_retry_delay(), seconds(1));
  EXPECT_EQ(calls_, 1) << "the caller makes it again";
  EXPECT_TRUE(client.call(kube::create(kPod, {}), {}));
}

}  // namespace
}  // namespace ratoon::runtime::fence_test
