// A token that is replaced in its file while the process lives.
#include "agent/src/session/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::session {
namespace {

TEST(TokenFile, IsReadAgainEachMinute) {
  const test::TemporaryFolder folder;
  ManualClock clock;
  test::write_text(folder / "token", "first\n");
  auto file = TokenFile::open((folder / "token").string(), clock);
  ASSERT_TRUE(file) << file.error().message();
  test::write_text(folder / "token", "second\n");
  clock.advance(std::chrono::seconds(59));
  EXPECT_EQ(file->token(), "first");
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(file->token(), "second");
}

TEST(TokenFile, IsReadAgainAtOnceWhereItIsDoubted) {
  const test::TemporaryFolder folder;
  const ManualClock clock;
  test::write_text(folder / "token", "first");
  auto file = TokenFile::open((folder / "token").string(), clock);
  ASSERT_TRUE(file);
  test::write_text(folder / "token", "second");
  EXPECT_EQ(file->token(), "first");
  file->doubt();
  EXPECT_EQ(file->token(), "second");
  test::write_text(folder / "token", "third");
  EXPECT_EQ(file->token(), "second") << "one doubt, one look";
}

TEST(TokenFile, KeepsTheLastGoodOne) {
  const test::TemporaryFolder folder;
  ManualClock clock;
  test::write_text(folder / "token", "first");
  auto file = TokenFile::open((folder / "token").string(), clock);
  ASSERT_TRUE(file);
  std::filesystem::remove(folder / "token");
  clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(file->token(), "first");
  test::write_text(folder / "token", "");
  clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(file->token(), "first");
  test::write_text(folder / "token", "third");
  clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(file->token(), "third");
}

TEST(TokenFile, IsNotNeededAndMustBeThereIfItIsNamed) {
  const ManualClock clock;
  EXPECT_EQ(TokenFile::open("", clock).value().token(), "");
  const auto missing = TokenFile::open("/no/such/token", clock);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), testing::HasSubstr("RATOON_TOKEN_FILE"));
}

}  // namespace
}  // namespace ratoon::session
