// A token that is replaced in its file while the process lives.
#include "base/core/token_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::token_file_test {
namespace {

class TokenFileTest : public testing::Test {
 protected:
  void write(const std::string& text) { test::write_text(folder_ / "token", text); }

  test::TemporaryFolder folder_;
  ManualClock clock_;
  TokenFile file_{(folder_ / "token").string(), clock_};
};

TEST_F(TokenFileTest, IsReadAgainEachMinute) {
  write("first\n");
  EXPECT_EQ(file_.token(), "first");
  write("second\r\n");
  clock_.advance(std::chrono::seconds(59));
  EXPECT_EQ(file_.token(), "first");
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(file_.token(), "second");
}

TEST_F(TokenFileTest, IsReadAgainAtOnceWhereItIsDoubted) {
  write("first");
  EXPECT_EQ(file_.token(), "first");
  write("second");
  EXPECT_EQ(file_.token(), "first");
  file_.mark_refused();
  EXPECT_EQ(file_.token(), "second");
  write("third");
  EXPECT_EQ(file_.token(), "second") << "one doubt, one look";
}

TEST_F(TokenFileTest, KeepsTheLastGoodOne) {
  write("first");
  EXPECT_EQ(file_.token(), "first");
  std::filesystem::remove(folder_ / "token");
  clock_.advance(std::chrono::minutes(2));
  EXPECT_EQ(file_.token(), "first");
  write(" \n");
  clock_.advance(std::chrono::minutes(2));
  EXPECT_EQ(file_.token(), "first");
  write("third");
  clock_.advance(std::chrono::minutes(2));
  EXPECT_EQ(file_.token(), "third");
}

TEST_F(TokenFileTest, WhatWasNeverThereIsLookedForEachTime) {
  EXPECT_EQ(file_.token(), "");
  write("first");
  EXPECT_EQ(file_.token(), "first");
  EXPECT_EQ(TokenFile("", clock_).token(), "") << "no path, no token";
}

}  // namespace
}  // namespace ratoon::token_file_test
