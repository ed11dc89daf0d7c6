#include "operator/runtime/members/reviewed_tokens.h"

#include <string>

#include <gtest/gtest.h>

namespace ratoon::runtime::reviewed_tokens_test {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kNow{2h};

ReviewedTokens::Answer answer_of(const std::string& pod, Timestamp time = kNow) {
  return {.identity = {.name_space = "team", .pod_name = pod, .pod_uid = "uid-of-" + pod}, .time = time};
}

TEST(ReviewedTokens, APodThatShowsManyTokensIsKnownByItsNewest) {
  constexpr std::size_t kShown = 5000;
  ReviewedTokens tokens;
  tokens.keep("other", answer_of("other"));
  for (std::size_t i = 0; i < kShown; ++i) tokens.keep(std::to_string(i), answer_of("pod"));
  EXPECT_EQ(tokens.size(), 1 + ReviewedTokens::kAnswersPerPodMax);
  EXPECT_TRUE(tokens.find(std::to_string(kShown - 1), kNow));
  EXPECT_FALSE(tokens.find("0", kNow));
  EXPECT_TRUE(tokens.find("other", kNow));
}

TEST(ReviewedTokens, ATokenThatIsReviewedAgainTakesNoPlaceOfAnother) {
  ReviewedTokens tokens;
  for (std::size_t i = 0; i < ReviewedTokens::kAnswersPerPodMax; ++i)
    tokens.keep(std::to_string(i), answer_of("pod"));
  for (int i = 0; i < 20; ++i) tokens.keep("3", answer_of("pod", kNow + 1min));
  EXPECT_TRUE(tokens.find("0", kNow));
  EXPECT_EQ(tokens.find("3", kNow)->time, kNow + 1min);
  tokens.forget("0");
  tokens.keep("next", answer_of("pod"));
  EXPECT_TRUE(tokens.find("1", kNow)) << "the forgotten token left a place";
}

TEST(ReviewedTokens, AnAnswerIsForgottenAfterAnHour) {
  ReviewedTokens tokens;
  tokens.keep("a", answer_of("pod"));
  EXPECT_TRUE(tokens.find("a", kNow + 1h));
  EXPECT_FALSE(tokens.find("a", kNow + 1h + 1s));
  EXPECT_FALSE(tokens.find("b", kNow + 1h + 2min));
  EXPECT_EQ(tokens.size(), 0U);
  tokens.forget("a");
  tokens.keep("a", answer_of("pod", kNow + 2h));
  EXPECT_EQ(tokens.size(), 1U);
}

TEST(ReviewedTokens, BeyondTheLimitNoFurtherPodIsKept) {
  ReviewedTokens tokens;
  for (std::size_t i = 0; i < ReviewedTokens::kAnswersMax; ++i)
    tokens.keep(std::to_string(i), answer_of(std::to_string(i)));
  tokens.keep("one more", answer_of("one more"));
  EXPECT_FALSE(tokens.find("one more", kNow));
  EXPECT_EQ(tokens.size(), ReviewedTokens::kAnswersMax);
}

}  // namespace
}  // namespace ratoon::runtime::reviewed_tokens_test
