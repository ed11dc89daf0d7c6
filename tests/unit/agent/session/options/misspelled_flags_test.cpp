#include "agent/src/session/options/misspelled_flags.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::session::misspelled_flags_test {
namespace {

// The same result comes from Options::from_environment().
Result<void> check(std::vector<const char*> words) {
  words.insert(words.begin(), "train");
  Options options;
  const auto checked = check_near_flags(words, option_rows(options));
  words.insert(words.begin() + 1, {"--save-folder", "f", "--run-name", "r"});
  const auto read = Options::from_environment(static_cast<int>(words.size()), words.data());
  if (!checked) {
    EXPECT_FALSE(read);
    EXPECT_EQ(read.error().message(), checked.error().message());
  }
  return checked;
}

TEST(NearFlags, AreRefused) {
  for (const char* word : {"--save-evry", "--save-evrey", "--saves-every", "--save_every", "--Save-Every",
                           "-save-every", "--runname", "--store=x", "--keep_last_in_stores", "--Seed"}) {
    const auto refused = check({word, "5"});
    ASSERT_FALSE(refused) << word;
    EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("is unknown and almost equals --")) << word;
  }
}

TEST(NearFlags, AProgramHasFlagsOfItsOwn) {
  for (const char* word :
       {"--speed", "--seeds", "--skips", "--steps", "--batch", "--keep-best", "save-evry", "-s", "-"})
    EXPECT_TRUE(check({word, "5"})) << word;
  EXPECT_TRUE(check({"--load-from", "--save-evry"})) << "a value";
  EXPECT_TRUE(check({"--", "--save-evry", "5"})) << "behind --";
  EXPECT_FALSE(check({"--deterministic", "--save-evry", "5"})) << "a switch takes no value";
}

TEST(NearFlags, NoFlagIsNearlyAnother) {
  Options options;
  const auto rows = option_rows(options);
  for (const auto& one : rows) {
    for (const auto& other : rows) {
      if (one.flag != nullptr && other.flag != nullptr) {
        EXPECT_FALSE(is_nearly(one.flag, other.flag)) << one.flag << " " << other.flag;
      }
    }
  }
}

}  // namespace
}  // namespace ratoon::session::misspelled_flags_test
