#include "operator/api/variables.h"

#include <random>

#include <gtest/gtest.h>

namespace ratoon::api::variables_test {
namespace {

// Values as the kubelet accepts them.
TEST(Variables, AreReplacedWhereTheyAreKnown) {
  const VariableMap known = {{"A", "1"}, {"LONG_NAME", "x y"}, {"EMPTY", ""}, {"my.dot-ted", "d"}};
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"$(A)", "1"},
      {"--a=$(A),$(LONG_NAME)!", "--a=1,x y!"},
      {"$(EMPTY)", ""},
      {"$(my.dot-ted)", "d"},
      {"$(UNKNOWN)", "$(UNKNOWN)"},
      {"$(UNKNOWN)$(A)", "$(UNKNOWN)1"},
      {"$$(A)", "$(A)"},
      {"$$$(A)", "$1"},
      {"$$$$(A)", "$$(A)"},
      {"$$", "$"},
      {"$", "$"},
      {"$A", "$A"},
      {"${A}", "${A}"},
      {"$(A", "$(A"},
      {"$()", "$()"},
      {"$((A))", "$((A))"},
      {"a$", "a$"},
      {"$($(A))", "$($(A))"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(expand_variables(text, known), expected) << text;
}

TEST(Variables, AValueSeesWhatStandsBeforeItAndTheLastOfANameCounts) {
  const VariableMap expanded = expand_environment(
      {{"A", "$(OURS)/a"}, {"B", "$(A)/b"}, {"EARLY", "$(LATE)"}, {"LATE", "1"}, {"A", "$(A)2"}},
      {{"OURS", "o"}});
  EXPECT_EQ(expanded,
            (VariableMap{{"A", "o/a2"}, {"B", "o/a/b"}, {"EARLY", "$(LATE)"}, {"LATE", "1"}, {"OURS", "o"}}));
}

TEST(Variables, AnEscapedTextExpandsToItself) {
  constexpr std::string_view kLetters = "$$$()AB ";
  std::mt19937 random(17);
  const VariableMap known = {{"A", "1"}, {"B", "2"}, {"", "3"}, {"AB", "4"}};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t length = random() % 12; length > 0; --length)
      text += kLetters[random() % kLetters.size()];
    ASSERT_EQ(expand_variables(escape_variables(text), known), text);
  }
  EXPECT_EQ(escape_variables("$HOME/a"), "$HOME/a") << "it stays as people know it where nothing is at stake";
}

}  // namespace
}  // namespace ratoon::api::variables_test
