// The operator's coordinator as it is put together, on an API server that answers when the test allows it: no
// message of a known member waits for reviews, neither of its own token nor of others.
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/contract/codec.h"
#include "base/contract/names.h"
#include "base/http/server.h"
#include "operator/coordinator/coordinator.h"
#include "operator/runtime/members/admission_queue.h"
#include "operator/runtime/members/member_check.h"
#include "operator/runtime/members/token_reviewer.h"
#include "tests/support/member_tokens.h"
#include "tests/support/operator_builders.h"

namespace ratoon::runtime::admission_separation_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kMembers = 200;
constexpr std::uint32_t kNewcomers = 12;
constexpr int kReviewThreads = 4;
constexpr int kAdmissionThreads = 4;  // for one address

class Gate {
 public:
  void open(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    --waiting_;
  }
  void wait_for(int number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= number; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int waiting_ = 0;
};

class GatedReviews final : public http::HttpTransport {
 public:
  explicit GatedReviews(Gate& gate) : gate_(gate) {}

  Result<http::Response> call(const http::Request& request, const http::Limits& limits,
                              std::stop_token stop) override {
    gate_.pass();
    return reviews_.call(request, limits, std::move(stop));
  }
  Result<http::ResponseHead> stream(const http::Request&, const http::Limits&, http::BodySink&,
                                    std::stop_token) override {
    return Error(ErrorKind::kUnavailable, "no token is reviewed by a watch");
  }

 private:
  Gate& gate_;
  test::ReviewsInMemory reviews_;
};

class AdmissionSeparation : public testing::Test {
 protected:
  AdmissionSeparation() {
    for (int i = 0; i < kReviewThreads; ++i)
      reviewing_.emplace_back([this](const std::stop_token& stop) { tokens_.keep_fresh(stop); });
    std::vector<ProcessIdentity> current;
    for (std::uint32_t i = 0; i < kMembers + kNewcomers; ++i) current.push_back(test::process(i));
    coordinator_.announce(test::job_key(), {.attempt = Attempt(1), .current = std::move(current)});
    server_ = *http::HttpServer::start({.threads = 4},
                                       [this](http::ServerRequest request, http::Responder responder) {
                                         admission_queue_.receive(std::move(request), std::move(responder));
                                       });
  }
  ~AdmissionSeparation() override {
    gate_.open(true);
    server_->stop();
  }

  int beat(std::uint32_t index) {
    const auto process = test::process(index);
    const http::Request request{
        .method = "POST",
        .url = "http://127.0.0.1:" + std::to_string(server_->port()) + std::string(names::route::kBeat),
        .headers = {{"Authorization", "Bearer " + test::token_of(process)}},
        .body = encode(test::beat(process, 1, 1))};
    const auto response = transport_->call(request, {.total = 2min, .silence = 2min}, {});
    return response ? response->status : 0;
  }

  ManualClock clock_{Timestamp{1h}};
  Gate gate_;
  ApiClient client_{
      {.server = "https://127.0.0.1:1"}, clock_, {}, nullptr, std::make_unique<GatedReviews>(gate_)};
  TokenReviewer tokens_{client_, clock_};
  coordinator::Coordinator coordinator_{clock_,
                                        {.authenticate =
                                             [this](std::string_view token, const ProcessIdentity& process) {
                                               return check_member(tokens_, token, process);
                                             },
                                         .on_change = [](const JobKey&) {}}};
  AdmissionQueue admission_queue_{
      clock_,
      {.is_known =
           [this](const http::ServerRequest& request) {
             return tokens_.knows(coordinator::bearer_token(request));
           },
       .answer = [this](const http::ServerRequest& request,
                        http::Responder responder) { coordinator_.handle(request, std::move(responder)); },
       .threads = 2 * kAdmissionThreads}};
  std::unique_ptr<http::HttpServer> server_;
  std::unique_ptr<http::HttpTransport> transport_ = http::make_transport();
  std::vector<std::jthread> reviewing_;  // before the tokens go
};

TEST_F(AdmissionSeparation, BeatsOfKnownMembersAreAnsweredWhileTheServerAnswersNobody) {
  for (std::uint32_t i = 0; i < kMembers; ++i) ASSERT_EQ(beat(i), 200) << i;
  clock_.advance(2min);
  gate_.open(false);
  for (std::uint32_t i = 0; i < kMembers; ++i) ASSERT_EQ(beat(i), 200) << "its token is to be reviewed again";
  gate_.wait_for(kReviewThreads);
  std::vector<std::future<int>> newcomers;
  for (std::uint32_t i = 0; i < kNewcomers; ++i)
    newcomers.push_back(std::async(std::launch::async, [this, i] { return beat(kMembers + i); }));
  gate_.wait_for(kReviewThreads + kAdmissionThreads);
  for (std::uint32_t i = 0; i < kMembers; ++i) ASSERT_EQ(beat(i), 200) << "others are asked about";
  gate_.open(true);
  for (auto& newcomer : newcomers) EXPECT_EQ(newcomer.get(), 200);
}

}  // namespace
}  // namespace ratoon::runtime::admission_separation_test
