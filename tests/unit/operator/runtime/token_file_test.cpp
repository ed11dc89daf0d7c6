// The operator's own token, which its mount renews before it expires.
#include "operator/runtime/token_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::runtime {
namespace {

TEST(OperatorTokenFile, IsReadAgainEachMinuteAndTheLastGoodOneIsKept) {
  const test::TemporaryFolder folder;
  ManualClock clock;
  TokenFile file((folder / "token").string(), clock);
  EXPECT_EQ(file.read(), "");
  test::write_text(folder / "token", "first\n");
  EXPECT_EQ(file.read(), "first") << "what was not there is looked for each time";
  test::write_text(folder / "token", "second\n");
  clock.advance(std::chrono::seconds(59));
  EXPECT_EQ(file.read(), "first");
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(file.read(), "second");
  std::filesystem::remove(folder / "token");
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(file.read(), "second");
}

}  // namespace
}  // namespace ratoon::runtime
