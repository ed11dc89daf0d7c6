#include "agent/src/session/link/peer_watch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/link/coordinator_link.h"
#include "agent/src/session/rendezvous/rendezvous_socket.h"
#include "tests/support/blocked_listener.h"

namespace ratoon::session::peer_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr PeerWatch::ProbeTimes kFast{.usual_wait_max = 0ms,
                                      .check_interval = 1ms,
                                      .pause_if_unreachable = 1ms,
                                      .pause_if_all_reachable = 1ms,
                                      .connect_timeout = 100ms};

constexpr int kFailedProbesMin = 2;  // of a peer in a row, before it is named

class PeerWatchTest : public testing::Test {
 protected:
  // The process waits since that moment; 0: it does not wait.
  void wait_since(int moment) { since_ = moment; }
  [[nodiscard]] Timestamp moment(int at) const { return began_ + std::chrono::nanoseconds(at); }
  PeerWatch open(const PeerWatch::ProbeTimes& pace = kFast) {
    return PeerWatch(
        pace,
        [this]() -> std::optional<Timestamp> {
          const std::lock_guard lock(mutex_);
          const int since = since_;
          ++(since == 0 ? idle_looks_ : looks_);
          looked_.notify_all();
          return since == 0 ? std::nullopt : std::optional(moment(since));
        },
        [this](bool is_any) {
          const std::lock_guard lock(mutex_);
          is_any_ = is_any;
          if (++news_ == 1) looks_at_first_news_ = looks_.load();
          looked_.notify_all();
        });
  }
  // The watch looks again and again, and the condition is checked after each look.
  template <class Condition>
  void wait_until(const Condition& condition) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(looked_.wait_for(lock, 2min, condition));
  }

  const Timestamp began_ = SystemClock().now();
  std::mutex mutex_;
  std::condition_variable looked_;
  std::atomic<int> since_ = 0;
  std::atomic<int> idle_looks_ = 0;
  std::atomic<int> looks_ = 0;  // while it waits
  std::atomic<int> news_ = 0;
  std::atomic<int> looks_at_first_news_ = 0;
  std::atomic<bool> is_any_ = false;  // as the last news said
  test::BlockedListener blocked_;
};

TEST_F(PeerWatchTest, NamesThePeerWithoutAWayAndNoOther) {
  const auto peer = open_rendezvous_socket("");
  ASSERT_TRUE(peer) << peer.error().message();
  PeerWatch watch = open();
  watch.set_peers({{"uid-1", format_address(peer->at)}, {"uid-2", blocked_.address()}});
  wait_since(1);
  wait_until([&] { return !watch.unreachable(moment(1)).empty(); });
  EXPECT_THAT(watch.unreachable(moment(1)), ElementsAre("uid-2"));
  wait_until([&] { return news_ == 1; });
  EXPECT_TRUE(is_any_);
}

// With kFast each look of a process that waits is followed by a probe.
TEST_F(PeerWatchTest, NamesAPeerAfterTwoFailedProbes) {
  PeerWatch watch = open();
  watch.set_peers({{"uid-2", blocked_.address()}});
  wait_since(1);
  wait_until([&] { return news_ == 1; });
  EXPECT_EQ(looks_at_first_news_, kFailedProbesMin);
}

// As CoordinatorLinkPeers shows, a heartbeat tells the operator at once which peers have become unreachable.
TEST(PeerProbeTimes, NameAPeerWithin15SecondsOfACut) {
  const PeerWatch::ProbeTimes times = LinkTimeouts{}.peers;
  const Duration probes =
      kFailedProbesMin * times.connect_timeout + (kFailedProbesMin - 1) * times.pause_if_unreachable;
  const Duration to_first_probe =
      std::max(times.usual_wait_max, times.pause_if_all_reachable) + times.check_interval;
  EXPECT_LE(to_first_probe + probes, 15s) << "the process begins to wait with the cut";
  EXPECT_LE(times.connect_timeout + times.pause_if_all_reachable + probes, 15s)
      << "the cut follows the connection of a probe that reaches all peers";
}

TEST_F(PeerWatchTest, TakesItBackOnceThereIsAWay) {
  PeerWatch watch = open();
  watch.set_peers({{"uid-2", blocked_.address()}});
  wait_since(1);
  wait_until([&] { return news_ == 1; });
  blocked_.unblock();
  wait_until([&] { return watch.unreachable(moment(1)).empty(); });
  wait_until([&] { return news_ == 2; });
  EXPECT_FALSE(is_any_);
}

TEST_F(PeerWatchTest, ProbesNothingBeforeTheProcessHasWaitedForLong) {
  PeerWatch::ProbeTimes patient = kFast;
  patient.usual_wait_max = 1h;
  PeerWatch watch = open(patient);
  watch.set_peers({{"uid-2", blocked_.address()}});
  wait_since(1);
  const int before = looks_;
  wait_until([&] { return looks_ > before + 500; });
  EXPECT_THAT(watch.unreachable(moment(1)), IsEmpty());
}

TEST_F(PeerWatchTest, WhatWasFoundInOneWaitSaysNothingAboutTheNext) {
  PeerWatch watch = open();
  watch.set_peers({{"uid-2", blocked_.address()}});
  wait_since(1);
  wait_until([&] { return news_ == 1; });
  EXPECT_THAT(watch.unreachable(moment(2)), IsEmpty());
  wait_since(2);
  wait_until([&] { return !watch.unreachable(moment(2)).empty(); });
  EXPECT_THAT(watch.unreachable(moment(1)), IsEmpty());
}

TEST_F(PeerWatchTest, ForgetsThePeersOfAWorldThatItLeft) {
  PeerWatch watch = open();
  watch.set_peers({{"uid-2", blocked_.address()}});
  wait_since(1);
  wait_until([&] { return news_ == 1; });
  watch.set_peers({});
  EXPECT_THAT(watch.unreachable(moment(1)), IsEmpty());
}

TEST_F(PeerWatchTest, EndsAtOnceWhileItProbes) {
  PeerWatch::ProbeTimes slow = kFast;
  slow.connect_timeout = 1h;
  {
    PeerWatch watch = open(slow);
    watch.set_peers({{"uid-2", blocked_.address()}});
    wait_since(1);
    wait_until([&] { return looks_ > 0; });
  }
  EXPECT_EQ(news_, 0);
}

}  // namespace
}  // namespace ratoon::session::peer_watch_test
