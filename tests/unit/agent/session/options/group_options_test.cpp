// Options::group, as a program fills it for a launcher that Ratoon does not know.
#include <cstdlib>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/options.h>

#include "base/contract/names.h"

namespace ratoon::group_options_test {
namespace {

using testing::HasSubstr;

Options with(GroupOptions group) {
  return {.save_folder = "f", .run_name = "r", .group = std::move(group)};
}

Result<Options> read(Options options) {
  return Options::from_environment(0, nullptr, std::move(options));
}

class GroupOptionsTest : public testing::Test {
 protected:
  ~GroupOptionsTest() override {
    for (const char* name : {"RANK", "WORLD_SIZE", names::env::kCoordinatorUrl}) ::unsetenv(name);
  }
};

TEST_F(GroupOptionsTest, OfTheProgramCount) {
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  EXPECT_EQ(read(with({}))->group.size, 2u) << "of torchrun";
  const auto options = read(with({.rank = 3, .size = 4, .name = "launch-1"}));
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->group.rank, 3u);
  EXPECT_EQ(options->group.size, 4u);
  EXPECT_EQ(options->group.name, "launch-1");
  EXPECT_FALSE(options->group.is_on_one_machine) << "which the program did not say";
  EXPECT_EQ(read(with({.name = "launch-1"}))->group.size, 1u) << "a launch of one";
}

TEST_F(GroupOptionsTest, AreChecked) {
  for (const auto& [group, sentence] :
       {std::pair(GroupOptions{.size = 0}, "size is 0: expected 1 to 65536 ranks"),
        std::pair(GroupOptions{.size = 65'537, .name = "a"}, "size is 65537: expected 1 to 65536 ranks"),
        std::pair(GroupOptions{.rank = 1}, "rank is 1: expected a number below size, which is 1"),
        std::pair(GroupOptions{.rank = 4, .size = 4, .name = "a"},
                  "rank is 4: expected a number below size, which is 4"),
        std::pair(GroupOptions{.size = 2},
                  "name is empty: expected a name that all ranks of this launch have, and no other launch"),
        std::pair(GroupOptions{.size = 2, .name = std::string(254, 'a')},
                  "name is 254 bytes long: expected at most 253"),
        std::pair(GroupOptions{.size = 2, .name = "a", .local_rank = 1},
                  "local_rank is 1: expected a number below local_size, which is 1"),
        std::pair(GroupOptions{.size = 2, .name = "a", .local_size = 0},
                  "local_size is 0: expected 1 to 2, at most size"),
        std::pair(GroupOptions{.size = 2, .name = "a", .local_size = 3},
                  "local_size is 3: expected 1 to 2, at most size")}) {
    const auto refused = read(with(group));
    ASSERT_FALSE(refused) << sentence;
    EXPECT_EQ(refused.error().message(), std::string("Options::group.") + sentence);
    EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  }
}

TEST_F(GroupOptionsTest, ACoordinatorGivesTheRanksItself) {
  ::setenv(names::env::kCoordinatorUrl, "http://127.0.0.1:9443", 1);
  EXPECT_TRUE(read(with({})));
  const auto refused = read(with({.size = 2, .name = "a"}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("because a coordinator gives this process its rank"));
}

}  // namespace
}  // namespace ratoon::group_options_test
