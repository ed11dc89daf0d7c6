// The two files that AWS' tools share.
#include "agent/src/objects/credentials/shared_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::objects::shared_files_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SharedFilesTest, AreReadAsBoto3ReadsThem) {
  const auto sections = parse_shared_file(
      "# remark\r\n; another\n\n[default]\naws_access_key_id = AKID\nAWS_SECRET_ACCESS_KEY=se=cret#1;2 # "
      "remark\n"
      "s3 =\n    addressing_style = path\n  use_x = 1\nregion=eu-west-1\n"
      "[profile \"my  team\"]\nregion = us-west-2\n[services local]\ns3 = \n  endpoint_url = "
      "http://127.0.0.1:1\n",
      "the file");
  ASSERT_TRUE(sections) << sections.error().message();
  const Settings& settings = sections->at("default");
  EXPECT_EQ(settings.at("aws_access_key_id"), "AKID");
  EXPECT_EQ(settings.at("aws_secret_access_key"), "se=cret#1;2");
  EXPECT_EQ(settings.at("s3.addressing_style"), "path");
  EXPECT_EQ(settings.at("s3.use_x"), "1");
  EXPECT_EQ(settings.at("region"), "eu-west-1");
  EXPECT_EQ(sections->at("profile my team").at("region"), "us-west-2");
  EXPECT_EQ(sections->at("services local").at("s3.endpoint_url"), "http://127.0.0.1:1");
}

TEST(SharedFilesTest, NameTheLineAndNeverItsText) {
  for (const std::string text :
       {"[default\n", "geheim = 1\n", "[default]\ngeheim\n", "[default]\n= geheim\n"}) {
    const auto sections = parse_shared_file(text, "the file");
    ASSERT_FALSE(sections) << text;
    EXPECT_THAT(sections.error().message(), testing::MatchesRegex("line [12] of the file: .*"));
    EXPECT_THAT(sections.error().message(), Not(HasSubstr("geheim")));
  }
}

TEST(SharedFilesTest, TheCredentialsFileCountsBeforeTheOther) {
  const auto profile = find_profile("team", {{"team", {{"region", "of-credentials"}}}},
                                    {{"profile team", {{"region", "of-config"}, {"role_arn", "r"}}}});
  EXPECT_EQ(profile->get("region"), "of-credentials");
  EXPECT_EQ(profile->get("role_arn"), "r");
}

}  // namespace
}  // namespace ratoon::objects::shared_files_test
