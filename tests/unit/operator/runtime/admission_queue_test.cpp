// Over real HTTP on loopback: a caller with token "known" is known.
#include "operator/runtime/members/admission_queue.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/http/transport.h"

namespace ratoon::runtime::admission_queue_test {
namespace {

using namespace std::chrono_literals;

class AdmissionQueueTest : public testing::Test {
 protected:
  ~AdmissionQueueTest() override {
    open_gate();
    server_->stop();
  }

  void start(std::size_t bytes_max = std::size_t{8} << 20) {
    admission_queue_ = std::make_unique<AdmissionQueue>(
        clock_,
        AdmissionQueueOptions{.is_known = is_known,
                              .answer = [this](const http::ServerRequest& request,
                                               http::Responder responder) { answer(request, responder); },
                              .threads = 4,  // two of them for one address
                              .bytes_max = bytes_max});
    server_ = *http::HttpServer::start({.threads = 2},
                                       [this](http::ServerRequest request, http::Responder responder) {
                                         const bool is_stranger = !is_known(request);
                                         admission_queue_->receive(std::move(request), std::move(responder));
                                         if (is_stranger) count(came_);
                                       });
    // cpprestsdk makes its threads in the first call of a program, in a way that ThreadSanitizer does not
    // understand.
    EXPECT_EQ(call("known"), 200);
  }

  int call(const std::string& token, const std::string& body = {}) {
    const http::Request request{.method = "POST",
                                .url = "http://127.0.0.1:" + std::to_string(server_->port()) + "/",
                                .headers = {{"Authorization", token}},
                                .body = body};
    const auto response = transport_->call(request, {.total = 10s, .silence = 10s}, {});
    return response ? response->status : 0;
  }
  std::vector<std::future<int>> call_unauthenticated(int number) {
    std::vector<std::future<int>> calls;
    for (int i = 0; i < number; ++i)
      calls.push_back(std::async(std::launch::async, [this] { return call("bad"); }));
    wait_for(came_, number);
    return calls;
  }

  // Reviews of unknown callers wait until the gate opens.
  void answer(const http::ServerRequest& request, http::Responder& responder) {
    if (!is_known(request)) {
      count(asked_);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_open_; });
      return responder.send({.status = 401});
    }
    responder.send({.status = 200});
  }
  void open_gate() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void count(int& what) {
    const std::lock_guard lock(mutex_);
    ++what;
    changed_.notify_all();
  }
  void wait_for(int& what, int number) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 2min, [&] { return what >= number; }));
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  static bool is_known(const http::ServerRequest& request) {
    return request.headers.get("Authorization") == "known";
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  int came_ = 0;   // strangers that stand in the line or were sent away
  int asked_ = 0;  // strangers that are being asked about, or were
  ManualClock clock_{Timestamp{1h}};
  std::unique_ptr<http::HttpTransport> transport_ = http::make_transport();
  std::unique_ptr<AdmissionQueue> admission_queue_;
  std::unique_ptr<http::HttpServer> server_;  // last: it stops before what it calls is gone
};

TEST_F(AdmissionQueueTest, AKnownMemberDoesNotWaitForUnknownOnes) {
  start();
  auto strangers = call_unauthenticated(8);
  wait_for(asked_, 2);
  EXPECT_EQ(call("known"), 200);
  EXPECT_EQ(asked(), 2) << "at once";
  open_gate();
  for (auto& stranger : strangers) EXPECT_EQ(stranger.get(), 401);
}

TEST_F(AdmissionQueueTest, WhoWaitedTooLongIsToCallAgain) {
  start();
  auto strangers = call_unauthenticated(3);
  wait_for(asked_, 2);
  clock_.advance(5s);
  open_gate();
  std::vector<int> answers;
  for (auto& stranger : strangers) answers.push_back(stranger.get());
  std::ranges::sort(answers);
  EXPECT_EQ(answers, (std::vector{401, 401, 503}));
}

TEST_F(AdmissionQueueTest, TheLineHasRoomForSoManyBytesAlone) {
  start(std::size_t{64} << 10);
  auto strangers = call_unauthenticated(2);
  wait_for(asked_, 2);  // who is asked about is not in the line
  auto third = std::async(std::launch::async, [this] { return call("bad", std::string(40 << 10, 'x')); });
  wait_for(came_, 3);
  EXPECT_EQ(call("bad", std::string(40 << 10, 'x')), 503);
  EXPECT_EQ(call("known", std::string(40 << 10, 'x')), 200);
  open_gate();
  EXPECT_EQ(third.get(), 401);
}

// Without a server: each message names the address from which it comes.
class AdmissionQueueLine : public testing::Test {
 protected:
  AdmissionQueueLine() { serve(1); }
  void come(const std::string& address, const std::string& name, std::size_t bytes = 0) {
    http::ServerRequest request;
    request.peer = address + ":" + std::to_string(++ports_);
    request.path = name;
    request.body = std::string(bytes, 'x');
    admission_queue_->receive(std::move(request), http::Responder(nullptr));
  }
  void serve(int threads, std::size_t bytes_max = std::size_t{8} << 20) {
    admission_queue_ = std::make_unique<AdmissionQueue>(
        clock_, AdmissionQueueOptions{.is_known = [](const http::ServerRequest&) { return false; },
                                      .answer = [this](const http::ServerRequest& request,
                                                       const http::Responder&) { answer(request); },
                                      .threads = threads,
                                      .bytes_max = bytes_max,
                                      .on_late = [this] { ++late_; }});
  }
  // Reviews the first one, and then each following one once the one before is done.
  std::string taken() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 1min, [this] { return !taken_.empty(); })) return "none within a minute";
    std::string name = taken_.front();
    taken_.pop_front();
    return name;
  }
  std::string next() {
    gate_.release();
    return taken();
  }
  void answer(const http::ServerRequest& request) {
    {
      const std::lock_guard lock(mutex_);
      taken_.push_back(request.path);
      changed_.notify_all();
    }
    gate_.acquire();
  }
  ~AdmissionQueueLine() override { gate_.release(); }

  std::counting_semaphore<> gate_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> taken_;
  int ports_ = 0;
  std::atomic<int> late_ = 0;
  ManualClock clock_{Timestamp{1h}};
  std::unique_ptr<AdmissionQueue> admission_queue_;
};

// Each address has one message, and none of them crowds the line alone.
TEST_F(AdmissionQueueLine, AllAddressesTogetherHaveRoomForSoManyBytes) {
  serve(1, std::size_t{64} << 10);
  come("10.0.0.1", "in review");
  ASSERT_EQ(taken(), "in review");
  come("10.0.0.2", "first", std::size_t{40} << 10);
  come("10.0.0.3", "sent away", std::size_t{40} << 10);
  come("10.0.0.4", "second");
  EXPECT_EQ(next(), "first");
  EXPECT_EQ(next(), "second");
}

// Reviews that hang.
TEST_F(AdmissionQueueLine, ReviewsForOneAddressLeaveAThreadToTheOthers) {
  serve(4);
  for (int i = 0; i < 10; ++i) come("10.0.0.1", "flood");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(taken(), "flood");
  come("10.0.0.2", "member");
  EXPECT_EQ(taken(), "member");
  gate_.release(20);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(taken(), "flood");
}

TEST_F(AdmissionQueueLine, AddressesTakeTurns) {
  constexpr int kFlood = 100;
  come("10.0.0.1", "flood");
  ASSERT_EQ(taken(), "flood");
  for (int i = 0; i < kFlood; ++i) come("10.0.0.1", "flood");
  come("10.0.0.2", "member");
  come("[fd00::1]", "other member");
  EXPECT_EQ(next(), "flood");
  EXPECT_EQ(next(), "member") << "though a hundred came before it";
  EXPECT_EQ(next(), "other member");
  for (int i = 1; i < kFlood; ++i) EXPECT_EQ(next(), "flood");
  EXPECT_EQ(late_, 0);
}

// A thousand members that a new leader does not know yet: their silence is not their fault.
TEST_F(AdmissionQueueLine, AnAddressThatWaitedLongForItsTurnIsTold) {
  come("10.0.0.1", "first");
  ASSERT_EQ(taken(), "first");
  for (const char* address : {"10.0.0.2", "10.0.0.3", "10.0.0.4"}) come(address, address);
  clock_.advance(999ms);
  EXPECT_EQ(next(), "10.0.0.2");
  EXPECT_EQ(late_, 0);
  clock_.advance(1ms);
  EXPECT_EQ(next(), "10.0.0.3");
  EXPECT_EQ(late_, 1);
  EXPECT_EQ(next(), "10.0.0.4");
  EXPECT_EQ(late_, 2);
}

// It waits for its own review, for any time.
TEST_F(AdmissionQueueLine, AFloodFromOneAddressMakesNobodyLate) {
  for (int i = 0; i < 40; ++i) come("10.0.0.1", "flood");
  ASSERT_EQ(taken(), "flood");
  for (int i = 1; i < 40; ++i) {
    clock_.advance(100ms);
    EXPECT_EQ(next(), "flood");
  }
  EXPECT_EQ(late_, 0);
}

}  // namespace
}  // namespace ratoon::runtime::admission_queue_test
