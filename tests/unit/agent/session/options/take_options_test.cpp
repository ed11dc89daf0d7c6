// take_options() before the parser of a program. The parsers here are small ones in the styles of common
// libraries: each refuses a flag that it does not know.
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/options.h>

#include "base/contract/names.h"
#include "tests/support/flag_parsers.h"

namespace ratoon::take_options_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A command line as main() has it.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {
    words_.insert(words_.begin(), "trainer");
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    argc = static_cast<int>(words_.size());
  }
  char** argv() { return argv_.data(); }
  std::vector<std::string> left() { return {argv() + 1, argv() + argc}; }

  int argc = 0;

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
};

Result<Options> take(Arguments& arguments, const FlagRules& rules = {}) {
  return take_options(arguments.argc, arguments.argv(), {.save_folder = "f", .run_name = "r"}, rules);
}

class TakeOptions : public testing::Test {
 protected:
  ~TakeOptions() override {
    ::unsetenv(names::env::kSeed);
    ::unsetenv(names::env::kKeepLast);
  }
};

TEST_F(TakeOptions, RemovesItsFlagsAndTheirValues) {
  Arguments arguments({"data.bin", "--keep-last", "5", "--lr", "0.1", "--seed=7", "--deterministic", "-v",
                       "--deterministic", "false", "--", "--keep-last", "9"});
  const auto options = take(arguments);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->keep_last, 5u);
  EXPECT_EQ(options->seed, 7u);
  EXPECT_FALSE(options->deterministic);
  EXPECT_THAT(options->flags, ElementsAre("--keep-last", "--seed", "--deterministic", "--deterministic"));
  EXPECT_THAT(arguments.left(), ElementsAre("data.bin", "--lr", "0.1", "-v", "--", "--keep-last", "9"));
  EXPECT_EQ(arguments.argv()[arguments.argc], nullptr);
}

TEST_F(TakeOptions, TakesThePointersOfAMainWithConstantArguments) {
  const char* words[] = {"trainer", "--keep-last", "5", "--lr", nullptr};
  int count = 4;
  const auto options = take_options(count, words, {.save_folder = "f", .run_name = "r"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->keep_last, 5u);
  ASSERT_EQ(count, 2);
  EXPECT_STREQ(words[1], "--lr");
  EXPECT_EQ(words[2], nullptr);
}

// Otherwise the program's parser would complain about them, and train() could not say what is wrong.
TEST_F(TakeOptions, RemovesFlagsAlsoIfAnOptionIsRefused) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--lr", "1", "--seed", "-1"},
                                                {"--deterministic", "1", "--lr", "1"},
                                                {"--keep-last=x", "--lr", "1"},
                                                {"--lr", "1", "--keep-last"}}) {
    Arguments arguments(words);
    EXPECT_FALSE(take(arguments));
    EXPECT_THAT(arguments.left(), ElementsAre("--lr", "1"));
  }
  Arguments near({"--keep-last", "5", "--save-evry", "3"});
  EXPECT_FALSE(take(near));
  EXPECT_THAT(near.left(), ElementsAre("--save-evry", "3"));
}

TEST_F(TakeOptions, HelpIsTakenTooWithAllFlags) {
  Arguments arguments({"--lr", "1", "--ratoon-help", "--save-evry", "3", "--keep-last", "2"});
  const auto options = take(arguments);
  ASSERT_TRUE(options);
  EXPECT_THAT(options->help, HasSubstr("--keep-last, RATOON_KEEP_LAST"));
  EXPECT_THAT(options->help, HasSubstr("write --ratoon-FLAG"));
  EXPECT_THAT(arguments.left(), ElementsAre("--lr", "1", "--save-evry", "3"));
}

TEST_F(TakeOptions, ThePrefixAlwaysWorksAndOverrides) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--ratoon-seed", "7"},
                                                {"--ratoon-seed=7"},
                                                {"--seed", "5", "--ratoon-seed", "7"},
                                                {"--ratoon-seed", "7", "--seed", "5"},
                                                {"--ratoon-seed=6", "--ratoon-seed=7", "--seed=5"}}) {
    for (const bool needs_prefix : {false, true}) {
      Arguments arguments(words);
      const auto options = take(arguments, {.needs_prefix = needs_prefix});
      ASSERT_TRUE(options) << options.error().message();
      EXPECT_EQ(options->seed, 7u);
    }
  }
  Arguments wrong({"--ratoon-seed", "x"});
  EXPECT_THAT(take(wrong).error().message(), testing::StartsWith("--ratoon-seed must be a whole number"));
  Arguments bare({"--ratoon-keep-last"});
  EXPECT_EQ(take(bare).error().message(), "--ratoon-keep-last needs a value after it");
}

TEST_F(TakeOptions, AFlagOfTheProgramIsReachedByThePrefixAlone) {
  for (const char* declared : {"--seed", "-seed", "--SEED"}) {
    Arguments arguments({"--seed", "-1", "--ratoon-seed", "7", "--seed=-2"});
    const auto options = take(arguments, {.of_program = {declared}});
    ASSERT_TRUE(options) << options.error().message();
    EXPECT_EQ(options->seed, 7u);
    EXPECT_THAT(options->flags, ElementsAre("--ratoon-seed"));
    EXPECT_THAT(arguments.left(), ElementsAre("--seed", "-1", "--seed=-2"));
  }
  Arguments arguments({"--keep_last", "0", "--skip", "4"});
  const auto options = take(arguments, {.of_program = {"--keep-last", "--skip"}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->skip, 0u);
  EXPECT_EQ(arguments.left().size(), 4u);
}

TEST_F(TakeOptions, RulesAreChecked) {
  for (const char* wrong : {"seed", "", "--", "--seed=5", "--ratoon-seed", "--Ratoon_Seed"}) {
    Arguments arguments({});
    const auto refused = take(arguments, {.of_program = {wrong}});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message(),
                HasSubstr("FlagRules::of_program has '" + std::string(wrong) + "': expected a flag"));
  }
}

TEST_F(TakeOptions, TheEnvironmentAloneIsEnough) {
  ::setenv(names::env::kSeed, "9", 1);
  const auto options = Options::from_environment({.save_folder = "f", .run_name = "r"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->seed, 9u);
  EXPECT_THAT(options->flags, IsEmpty());
  Arguments arguments({"--seed", "5"});
  EXPECT_EQ(take(arguments, {.needs_prefix = true})->seed, 9u);
  EXPECT_THAT(arguments.left(), ElementsAre("--seed", "5"));
}

// The program has --seed, --lr and a switch --verbose of its own; a parser that sees a flag of Ratoon fails.
TEST_F(TakeOptions, ParsersOfProgramsSeeOnlyTheirOwnFlags) {
  const std::vector<std::string> words = {"--save-every",  "50",       "--seed",        "-1", "--verbose",
                                          "--keep-last=4", "--lr=0.1", "--ratoon-seed", "7",  "data.bin"};
  for (const auto& [style, parse] : test::flag_parsers()) {
    Arguments untouched(words);
    EXPECT_THROW(parse(untouched.argc, untouched.argv()), std::runtime_error) << style;
    Arguments arguments(words);
    const auto options = take(arguments, {.of_program = {"--seed"}});
    ASSERT_TRUE(options) << options.error().message();
    const auto own = parse(arguments.argc, arguments.argv());
    EXPECT_EQ(options->seed, 7u);
    EXPECT_EQ(options->save_every, Every::steps(50));
    EXPECT_EQ(options->keep_last, 4u);
    EXPECT_THAT(
        own, testing::UnorderedElementsAre(testing::Pair("seed", "-1"), testing::Pair("lr", "0.1"),
                                           testing::Pair("verbose", "true"), testing::Pair("", "data.bin")))
        << style;
  }
}

}  // namespace
}  // namespace ratoon::take_options_test
