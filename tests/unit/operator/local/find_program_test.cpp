#include "operator/local/members/find_program.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::local::find_program_test {
namespace {

class FindProgram : public testing::Test {
 protected:
  void SetUp() override {
    before_ = std::getenv("PATH");
    ::setenv("PATH", (first_.path().string() + ":" + second_.path().string()).c_str(), 1);
  }
  void TearDown() override { ::setenv("PATH", before_.c_str(), 1); }
  static void make(const std::filesystem::path& path, mode_t mode) {
    test::write_text(path, "#!/bin/sh\n");
    ::chmod(path.c_str(), mode);
  }

  test::TemporaryFolder first_;
  test::TemporaryFolder second_;

 private:
  std::string before_;
};

TEST_F(FindProgram, TheFirstThatMayBeRun) {
  make(first_ / "train", 0644);
  make(second_ / "train", 0755);
  EXPECT_EQ(find_program("train").value(), second_ / "train");
  make(first_ / "train", 0755);
  EXPECT_EQ(find_program("train").value(), first_ / "train");
}

TEST_F(FindProgram, ANameWithAFolderIsThatFile) {
  make(first_ / "train", 0755);
  EXPECT_EQ(find_program((first_ / "train").string()).value(), first_ / "train");
  EXPECT_FALSE(find_program("./train"));
}

TEST_F(FindProgram, SaysWhyThereIsNone) {
  EXPECT_EQ(
      find_program("train").error().message(),
      "starting 'train': No such file or directory; no folder of PATH has this program: give a path to it");
  EXPECT_EQ(find_program("./train").error().message(),
            "starting './train': No such file or directory; a relative path counts from the current folder");
  make(first_ / "train", 0644);
  EXPECT_EQ(find_program("train").error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(find_program(first_.path().string()).error().kind(), ErrorKind::kInvalid);
}

}  // namespace
}  // namespace ratoon::local::find_program_test
