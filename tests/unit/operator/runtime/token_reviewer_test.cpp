#include "operator/runtime/members/token_reviewer.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "operator/runtime/members/member_check.h"

namespace ratoon::runtime::token_reviewer_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// The API server's reviews of tokens; without a review it is unreachable.
struct Server {
  std::optional<json> word;
  std::atomic<int> asked = 0;
  int status = 201;
  Duration patience{};  // of who asked last
};

json accepted(const std::string& pod) {
  return {{"status",
           {{"authenticated", true},
            {"audiences", {"ratoon"}},
            {"user",
             {{"username", "system:serviceaccount:team:trainer"},
              {"extra",
               {{"authentication.kubernetes.io/pod-name", {pod}},
                {"authentication.kubernetes.io/pod-uid", {"uid-of-" + pod}}}}}}}}};
}

const json kRefused = {{"status", {{"authenticated", false}}}};

class TransportTo final : public http::HttpTransport {
 public:
  explicit TransportTo(Server& server) : server_(server) {}

  Result<http::Response> call(const http::Request&, const http::Limits& limits, std::stop_token) override {
    ++server_.asked;
    server_.patience = limits.total;
    if (!server_.word) return Error(ErrorKind::kUnavailable, "nobody answers");
    return http::Response{
        .status = server_.status, .headers = {{"Retry-After", "1"}}, .body = server_.word->dump()};
  }
  Result<http::ResponseHead> stream(const http::Request&, const http::Limits&, http::BodySink&,
                                    std::stop_token) override {
    return Error(ErrorKind::kUnavailable, "no token is reviewed by a watch");
  }

 private:
  Server& server_;
};

class TokenReviewerTest : public testing::Test {
 protected:
  Result<kube::TokenIdentity> review(const std::string& token) { return reviewer_.review(token, {}); }
  std::string pod_of(const std::string& token) {
    const auto identity = review(token);
    return identity ? identity->pod_name : "";
  }

  Server server_{.word = accepted("w-0")};
  ManualClock clock_{Timestamp{1h}};
  ApiClient client_{
      {.server = "https://127.0.0.1:1"}, clock_, {}, nullptr, std::make_unique<TransportTo>(server_)};
  TokenReviewer reviewer_{client_, clock_};
};

TEST_F(TokenReviewerTest, AsksOnceAMinuteForEachToken) {
  EXPECT_EQ(pod_of("a"), "w-0");
  clock_.advance(59s);
  EXPECT_EQ(pod_of("a"), "w-0");
  EXPECT_EQ(server_.asked, 1);
  server_.word = accepted("w-1");
  EXPECT_EQ(pod_of("b"), "w-1") << "what is known of one token says nothing about another";
  clock_.advance(1s);
  server_.word = kRefused;
  EXPECT_EQ(pod_of("a"), "w-0") << "its beat does not wait";
  EXPECT_TRUE(reviewer_.refresh_next({}));
  EXPECT_FALSE(review("a")) << "its pod may have gone";
}

// Threads that read beats must not wait for reviews one after the other: a thousand of a quarter of a second
// are 4 minutes.
TEST_F(TokenReviewerTest, NoReviewOfAKnownTokenAsksTheServer) {
  constexpr int kTokens = 1000;
  for (int i = 0; i < kTokens; ++i) {  // each of another pod
    server_.word = accepted(std::to_string(i));
    ASSERT_EQ(pod_of(std::to_string(i)), std::to_string(i));
  }
  clock_.advance(2min);
  for (int beat = 0; beat < 3; ++beat)
    for (int i = 0; i < kTokens; ++i) ASSERT_EQ(pod_of(std::to_string(i)), std::to_string(i));
  EXPECT_EQ(server_.asked, kTokens);
  int refreshed = 0;
  for (; reviewer_.refresh_next({}); ++refreshed) server_.word = accepted(std::to_string(refreshed + 1));
  EXPECT_EQ(refreshed, kTokens) << "each once, however often it called";
  EXPECT_EQ(server_.asked, 2 * kTokens);
  for (int i = 0; i < kTokens; ++i) ASSERT_TRUE(review(std::to_string(i)));
  EXPECT_FALSE(reviewer_.refresh_next({})) << "they are fresh";
}

TEST_F(TokenReviewerTest, AThreadOfItsOwnKeepsAnswersFresh) {
  ASSERT_EQ(pod_of("a"), "w-0");
  server_.word = kRefused;
  clock_.advance(2min);
  std::jthread freshens([this](const std::stop_token& stop) { reviewer_.keep_fresh(stop); });
  while (review("a")) std::this_thread::yield();
  EXPECT_FALSE(reviewer_.knows("a"));
}

TEST_F(TokenReviewerTest, AServerThatIsOverloadedIsNotWaitedFor) {
  server_.status = 429;
  const auto stranger = review("a");
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(server_.asked, 1) << "the bearer calls again";
}

TEST_F(TokenReviewerTest, ARefusalIsNotKept) {
  server_.word = kRefused;
  const auto refused = review("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kPermissionDenied);
  server_.word = accepted("w-0");
  EXPECT_EQ(pod_of("a"), "w-0") << "the server may have been behind";
}

TEST_F(TokenReviewerTest, WhoIsKnownStaysKnownWhileTheServerIsAwayForAnHour) {
  ASSERT_EQ(pod_of("a"), "w-0");
  server_.word.reset();
  clock_.advance(30min);
  EXPECT_EQ(pod_of("a"), "w-0");
  const auto stranger = review("b");
  ASSERT_FALSE(stranger) << "nobody vouches for it";
  EXPECT_EQ(stranger.error().kind(), ErrorKind::kUnavailable) << "it is to ask again, not to give up";
  clock_.advance(30min + 1s);
  EXPECT_FALSE(review("a"));
}

TEST_F(TokenReviewerTest, WhoWasRefusedIsNotKnownAnyMoreEvenWhileTheServerIsAway) {
  ASSERT_EQ(pod_of("a"), "w-0");
  EXPECT_TRUE(reviewer_.knows("a"));
  clock_.advance(2min);
  server_.word = kRefused;
  EXPECT_TRUE(review("a"));
  EXPECT_TRUE(reviewer_.refresh_next({}));
  EXPECT_FALSE(review("a"));
  EXPECT_FALSE(reviewer_.knows("a"));
  server_.word.reset();
  EXPECT_FALSE(review("a")) << "its pod has gone";
}

TEST_F(TokenReviewerTest, UnknownTokensFillNoMemory) {
  ProcessIdentity process;
  process.job = {.name_space = "team", .name = "w"};
  EXPECT_FALSE(check_member(reviewer_, "a", process)) << "a good token, of another pod";
  EXPECT_EQ(reviewer_.known(), 0u);
  EXPECT_FALSE(reviewer_.knows("a"));
}

TEST_F(TokenReviewerTest, NorDoesAMemberThatShowsManyTokens) {
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(pod_of(std::to_string(i)), "w-0");
  EXPECT_EQ(reviewer_.known(), ReviewedTokens::kAnswersPerPodMax);
}

// One namespace has thousands of members; the review of another one's member is the next but one.
TEST_F(TokenReviewerTest, NamespacesTakeTurnsInNewReviews) {
  const auto show = [&](const std::string& name_space, int number) {
    for (int i = 0; i < number; ++i) {
      const std::string pod = name_space + std::to_string(i);
      server_.word = accepted(pod);
      (*server_.word)["status"]["user"]["username"] = "system:serviceaccount:" + name_space + ":trainer";
      ASSERT_EQ(pod_of(pod), pod);
    }
  };
  show("many", 100);
  show("one", 1);
  clock_.advance(2min);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(review("many" + std::to_string(i)));
  ASSERT_TRUE(review("one0"));
  server_.word = kRefused;
  EXPECT_TRUE(reviewer_.refresh_next({}));
  EXPECT_TRUE(reviewer_.knows("one0"));
  EXPECT_TRUE(reviewer_.refresh_next({}));
  EXPECT_FALSE(reviewer_.knows("one0")) << "it was reviewed, and refused";
}

TEST_F(TokenReviewerTest, OldAnswersAreForgottenByOneLookAMinute) {
  for (const char* token : {"a", "b", "c"}) ASSERT_EQ(pod_of(token), "w-0");
  clock_.advance(1h);
  EXPECT_TRUE(reviewer_.knows("a"));  // the look of this minute, and none is too old
  clock_.advance(1s);
  EXPECT_FALSE(reviewer_.knows("a")) << "by its own age, whether it is still there or not";
  EXPECT_EQ(reviewer_.known(), 3u) << "no walk over all for each message";
  clock_.advance(59s);
  EXPECT_FALSE(reviewer_.knows("d"));
  EXPECT_EQ(reviewer_.known(), 0u);
}

TEST_F(TokenReviewerTest, BeatsOfMembersDoNotWaitForAServerThatIsAway) {
  ASSERT_EQ(pod_of("a"), "w-0");
  clock_.advance(2min);
  server_.word.reset();
  ASSERT_EQ(pod_of("a"), "w-0");
  EXPECT_TRUE(reviewer_.refresh_next({}));
  EXPECT_LE(server_.patience, 2s);
  const int asked = server_.asked;
  clock_.advance(9s);
  EXPECT_EQ(pod_of("a"), "w-0");
  EXPECT_FALSE(reviewer_.refresh_next({}));
  EXPECT_EQ(server_.asked, asked) << "it has just not answered";
  clock_.advance(1s);
  EXPECT_EQ(pod_of("a"), "w-0");
  EXPECT_TRUE(reviewer_.refresh_next({}));
  EXPECT_EQ(server_.asked, asked + 1);
}

TEST_F(TokenReviewerTest, WhatCannotBeATokenIsNotShownToTheServer) {
  EXPECT_EQ(review("").error().kind(), ErrorKind::kPermissionDenied);
  EXPECT_EQ(review(std::string(16 * 1024 + 1, 'x')).error().kind(), ErrorKind::kPermissionDenied);
  EXPECT_EQ(server_.asked, 0);
}

}  // namespace
}  // namespace ratoon::runtime::token_reviewer_test
