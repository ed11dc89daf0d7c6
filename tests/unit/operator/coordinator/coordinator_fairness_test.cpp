// The cost of one caller for the others: nothing noticeable, whether it cannot be authenticated, calls too
// often or opens connections by the hundred.
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "operator/coordinator/message_rate_limiter.h"
#include "tests/conformance/support/raw_socket.h"
#include "tests/unit/operator/coordinator/coordinator_over_http.h"

namespace ratoon::coordinator::coordinator_fairness_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_over_http;

class CoordinatorFairness : public CoordinatorOverHttp {};

// Its own silence is caused by our delay, and the silence of all others is not.
TEST_F(CoordinatorFairness, ACallerThatCannotBeProvedDelaysNoOtherOnesLoss) {
  const auto since = [this] { return coordinator_.listening_since(test::job_key()); };
  announce(1, {process(0), process(1)});
  for (const auto& who : {process(0), process(1)}) beat(test::beat(who, 1, 5));
  const Timestamp opened = since();
  clock_.advance(900ms);
  const auto answer = post(names::route::kBeat, encode(test::beat(process(0), 1, 6, 2)), "unproved");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(since(), opened) << "the second one is judged as ever";
  for (const auto& facts : coordinator_.processes(test::job_key())) {
    const bool is_caller = facts.identity == process(0);
    EXPECT_EQ(facts.last_heard, is_caller ? clock_.now() : opened) << "of its pod it is a sign of life";
    EXPECT_EQ(facts.beat->step, Step(5)) << "and nothing that it says counts";
  }
  ProcessIdentity other = process(0);
  other.job.name = "other";
  EXPECT_EQ(post(names::route::kBeat, encode(test::beat(other, 1, 6)), "unproved").status, 503);
  EXPECT_EQ(since(), opened);
}

TEST_F(CoordinatorFairness, AMemberThatWasNeverHeardMayBeOneThatCannotBeProved) {
  const auto since = [this] { return coordinator_.listening_since(test::job_key()); };
  announce(1, {process(0), process(1)});
  beat(test::beat(process(0), 1, 5));
  const Timestamp opened = since();
  clock_.advance(900ms);
  coordinator_.announce({.name_space = "default", .name = "other"},
                        {.attempt = Attempt(1), .current = {process(0)}});
  post(names::route::kBeat, encode(test::beat(process(1), 1, 6)), "unproved");
  EXPECT_EQ(since(), clock_.now());
  beat(test::beat(process(1), 1, 6));
  EXPECT_EQ(since(), opened) << "it was heard";
}

// Unknown callers wait before their token is known.
TEST_F(CoordinatorFairness, WhatLiesUnreadIsOurDeafnessForThoseAloneWhoWereNeverHeard) {
  const auto since = [this] { return coordinator_.listening_since(test::job_key()); };
  announce(1, {process(0)});
  const Timestamp opened = since();
  clock_.advance(900ms);
  coordinator_.note_discarded_messages();
  EXPECT_EQ(since(), clock_.now());
  beat(test::beat(process(0), 1, 5));
  EXPECT_EQ(since(), opened);
}

// Its answers are delayed, so that its connections bound how often it calls; others are answered at once.
TEST_F(CoordinatorFairness, AMemberThatCallsTooOftenIsAnsweredLater) {
  announce(1, {process(0), process(1)});
  coordinator_.announce(
      test::job_key(), {.attempt = Attempt(1), .current = {process(0), process(1)}, .processes_per_node = 1});
  const auto limits = MessageRateLimits{};
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(limits.burst); ++i)
    ASSERT_EQ(beat(test::beat(process(0), 1, i, i + 1)).status, 200) << i;
  const std::uint64_t heard = coordinator_.load().messages;
  auto held = std::async(std::launch::async, [this] { return beat(test::beat(process(0), 1, 5, 5000)); });
  while (coordinator_.load().messages == heard) std::this_thread::yield();
  EXPECT_EQ(held.wait_for(250ms), std::future_status::timeout);
  EXPECT_EQ(beat(test::beat(process(1), 1, 5)).status, 200);
  clock_.advance(1s);
  EXPECT_EQ(held.get().status, 503);
  EXPECT_EQ(beat(test::beat(process(0), 1, 5, 5001)).status, 200) << "time has made good for some";
}

// The connections of a faulty member; another member's connection stays.
TEST_F(CoordinatorFairness, AMemberHasSoManyConnectionsAndNoMore) {
  using http::testing::RawSocket;
  serve({.unauthenticated_connections_max = 4});
  coordinator_.announce(
      test::job_key(), {.attempt = Attempt(1), .current = {process(0), process(1)}, .processes_per_node = 1});
  const auto call = [this](RawSocket& socket, std::uint32_t index, std::uint64_t sequence) {
    const std::string body = encode(test::beat(process(index), 1, 5, sequence));
    socket.send("POST /v1/beat HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer secret\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    return socket.read_until("\r\n\r\n");
  };
  auto other = RawSocket::connect_to(server_->port());
  EXPECT_TRUE(call(other, 1, 1).starts_with("HTTP/1.1 200"));
  std::vector<RawSocket> many;
  for (std::uint64_t i = 0; i < 100; ++i) {
    many.push_back(RawSocket::connect_to(server_->port()));
    EXPECT_TRUE(call(many.back(), 0, i + 1).starts_with("HTTP/1.1 200")) << "the newest is served";
  }
  for (std::size_t i = 0; i < 92; ++i) {
    many[i].read_to_end();
    EXPECT_TRUE(many[i].has_ended()) << i;
  }
  const auto is_served = [](const std::string& read) {
    return read.find("HTTP/1.1 200") != std::string::npos;
  };
  EXPECT_TRUE(is_served(call(many.back(), 0, 1000))) << "behind the body of its first answer";
  EXPECT_TRUE(is_served(call(other, 1, 2)));
}

// A namespace at its limit: its members go on with the connections that they have.
TEST_F(CoordinatorFairness, ANamespaceLeavesConnectionsToOthers) {
  using http::testing::RawSocket;
  serve({.unauthenticated_connections_max = 4, .tenant_connections_max = 3});
  ProcessIdentity other = process(1);
  other.job.name_space = "other";
  announce(1, {process(0)});
  coordinator_.announce(other.job, {.attempt = Attempt(1), .current = {other}});
  std::uint64_t sequence = 0;
  const auto call = [&](RawSocket& socket, const ProcessIdentity& from) {
    const std::string body = encode(test::beat(from, 1, 5, ++sequence));
    socket.send("POST /v1/beat HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer secret\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    return socket.read_until("\r\n\r\n").substr(0, 12);
  };
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 5; ++i) {
    ProcessIdentity many = process(0);
    many.member_uid += std::to_string(i);  // a pod each, so that no pod is at its limit
    sockets.push_back(RawSocket::connect_to(server_->port()));
    EXPECT_EQ(call(sockets.back(), many), i < 3 ? "HTTP/1.1 409" : "HTTP/1.1 503") << i;
  }
  auto socket = RawSocket::connect_to(server_->port());
  EXPECT_EQ(call(socket, other), "HTTP/1.1 200");
}

TEST(MessageRateLimiter, IsMadeGoodByTimeAndForgottenWhenItIsWhole) {
  MessageRateLimiter budget({.burst = 2, .messages_per_second = 1});
  const auto at = [](double second) { return test::at_seconds(second); };
  EXPECT_TRUE(budget.take("a", 1, at(0)));
  EXPECT_TRUE(budget.take("a", 1, at(0)));
  EXPECT_FALSE(budget.take("a", 1, at(0.9)));
  EXPECT_TRUE(budget.take("a", 1, at(1.1)));
  EXPECT_TRUE(budget.take("b", 1, at(1.1))) << "each has its own";
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(budget.take("c", 4, at(1.1))) << "more processes, more messages";
  EXPECT_FALSE(budget.take("c", 4, at(1.1)));
  budget.forget_idle_members(at(2.2));
  EXPECT_EQ(budget.size(), 2U) << "b was quiet for long enough";
  budget.forget_idle_members(at(10));
  EXPECT_EQ(budget.size(), 0U);
}

TEST_F(CoordinatorFairness, OfAJobThatIsOverNothingIsKeptAndItsMembersAreToldSo) {
  announce(1, {process(0)});
  beat(test::beat(process(0), 1, 5));
  coordinator_.announce(test::job_key(), {.attempt = Attempt(1), .stop = true, .reason = "completed"});
  EXPECT_EQ(coordinator_.processes(test::job_key()).size(), 1U) << "who runs alone reads its last beats";
  coordinator_.forget_processes(test::job_key());
  EXPECT_TRUE(coordinator_.processes(test::job_key()).empty());
  EXPECT_TRUE(beat(test::beat(process(0), 1, 6, 2)).as<Orders>().stop);
  EXPECT_EQ(join(test::join_request(process(0))).get().as<Refusal>().kind, "finished");
}

}  // namespace
}  // namespace ratoon::coordinator::coordinator_fairness_test
