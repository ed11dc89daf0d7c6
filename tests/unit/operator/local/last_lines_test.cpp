#include "operator/local/folder/last_lines.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::local::last_lines_test {
namespace {

TEST(LastLines, AreThoseThatFitWhole) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "log").string();
  std::ofstream(path) << "first\nsecond\nthird\n";
  EXPECT_EQ(read_last_lines(path, 100), "first\nsecond\nthird\n");
  EXPECT_EQ(read_last_lines(path, 19), "first\nsecond\nthird\n");
  EXPECT_EQ(read_last_lines(path, 18), "second\nthird\n");
  EXPECT_EQ(read_last_lines(path, 8), "third\n");
  EXPECT_EQ(read_last_lines((folder.path() / "none").string(), 100), "");
}

TEST(LastLines, OfOneLongLineAreItsEnd) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "log").string();
  std::ofstream(path) << std::string(50, 'a') + "bc";
  EXPECT_EQ(read_last_lines(path, 3), "abc");
}

TEST(LastLines, OfATextAreSoMany) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(last_lines_in("a\nb\nc\n", 2), Lines({"b", "c"}));
  EXPECT_EQ(last_lines_in("a\n\nc", 2), Lines({"", "c"}));
  EXPECT_EQ(last_lines_in("a", 2), Lines({"a"}));
  EXPECT_EQ(last_lines_in("", 2), Lines());
}

}  // namespace
}  // namespace ratoon::local::last_lines_test
