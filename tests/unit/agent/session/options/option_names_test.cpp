// Options by name, as programs in other languages set them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/options/option_rows.h"

namespace ratoon::option_names_test {
namespace {

using session::assign_option;
using testing::HasSubstr;

TEST(OptionNames, AreThoseOfTheFlags) {
  Options options;
  EXPECT_TRUE(assign_option(options, "save_folder", "/data"));
  EXPECT_TRUE(assign_option(options, "keep-last", "7"));
  EXPECT_TRUE(assign_option(options, "save_every", "9"));
  EXPECT_EQ(options.save_folder, "/data");
  EXPECT_EQ(options.keep_last, 7U);
  EXPECT_EQ(options.save_every, Every::steps(9));
}

TEST(OptionNames, AreRefusedWithTheNameThatWasMeant) {
  Options options;
  const auto near = assign_option(options, "save_evry", "9");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().message(), "there is no option save_evry: give save_every");
  const auto unknown = assign_option(options, "colour", "red");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("there is no option colour: docs/reference/options.md"));
  const auto hidden = assign_option(options, "coordinator_url", "http://x");
  ASSERT_FALSE(hidden) << "an option that only launchers set";
  const auto wrong = assign_option(options, "keep_last", "many");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("keep_last"));
}

}  // namespace
}  // namespace ratoon::option_names_test
