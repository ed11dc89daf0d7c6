#include "agent/src/session/options/misspelled_flags.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/options.h>

#include "agent/src/session/options/option_rows.h"

namespace ratoon::session::misspelled_flags_test {
namespace {

Result<Options> check(std::vector<const char*> words, const FlagRules& rules = {}) {
  words.insert(words.begin(), {"train", "--ratoon-save-folder", "f", "--ratoon-run-name", "r"});
  return Options::from_environment(static_cast<int>(words.size()), words.data(), {}, rules);
}

TEST(NearFlags, AreRefused) {
  for (const char* word : {"--save-evry", "--save-evrey", "--saves-every", "--save_every", "--Save-Every",
                           "-save-every", "--runname", "--store=x", "--keep_last_in_stores", "--Seed",
                           "--sed", "--sede=7", "--seeed", "--seedd", "--skp", "--ksip", "--skkip"}) {
    const auto refused = check({word, "5"});
    ASSERT_FALSE(refused) << word;
    EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("is unknown and almost equals --")) << word;
    const std::string flag(std::string_view(word).substr(0, std::string_view(word).find('=')));
    EXPECT_TRUE(check({word, "5"}, {.of_program = {flag}})) << word << " is declared";
    EXPECT_TRUE(check({word, "5"}, {.needs_prefix = true})) << word;
  }
}

TEST(NearFlags, AfterThePrefixEachIsRefused) {
  for (const auto& [word, said] :
       {std::pair("--ratoon-seek",
                  "--ratoon-seek is unknown, and flags that begin with --ratoon- are Ratoon's: "
                  "--ratoon-help lists them"),
        std::pair("--ratoon-sed", "Ratoon's: write --ratoon-seed"),
        std::pair("--ratoon-save-evry=5", "Ratoon's: write --ratoon-save-every"),
        std::pair("--ratoon_seed", "--ratoon_seed is unknown"),
        std::pair("-ratoon-seed", "write --ratoon-seed"),
        std::pair("--Ratoon-Save_Every", "write --ratoon-save-every"),
        std::pair("--ratoon-", "--ratoon-help"), std::pair("--ratoon-help=1", "--ratoon-help lists them")}) {
    for (const bool needs_prefix : {false, true}) {
      const auto refused = check({word, "5"}, {.needs_prefix = needs_prefix});
      ASSERT_FALSE(refused) << word;
      EXPECT_THAT(refused.error().message(), testing::HasSubstr(said));
    }
  }
  EXPECT_TRUE(check({"--ratoons", "5"}));
  EXPECT_TRUE(check({"--", "--ratoon-sed"}));
}

TEST(NearFlags, AProgramHasFlagsOfItsOwn) {
  for (const char* word : {"--speed", "--seeds", "--seek", "--need", "--skips", "--ship", "--steps",
                           "--batch", "--keep-best", "save-evry", "-s", "-"})
    EXPECT_TRUE(check({word, "5"})) << word;
  EXPECT_TRUE(check({"--load-from", "--save-evry"})) << "a value";
  EXPECT_TRUE(check({"--", "--save-evry", "5"})) << "behind --";
  const auto refused = check({"--deterministic", "--save-evry", "5"});
  ASSERT_FALSE(refused) << "a switch takes no value";
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("almost equals --save-every"));
}

TEST(NearFlags, NoFlagIsNearlyAnother) {
  Options options;
  const auto rows = option_rows(options);
  for (const auto& one : rows) {
    for (const auto& other : rows) {
      if (one.flag != nullptr && other.flag != nullptr) {
        EXPECT_FALSE(is_probable_misspelling(one.flag, other.flag)) << one.flag << " " << other.flag;
      }
    }
  }
}

}  // namespace
}  // namespace ratoon::session::misspelled_flags_test
