// Cgroups of version 2 as this kernel has them: a kernel may refuse operations that a tree of plain files
// accepts.
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/split_join.h"
#include "operator/local/members/cgroup_rules.h"
#include "operator/local/members/cgroups.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::local {
namespace {

// The outermost cgroup of version 2, if this process may write it: it has no cgroup.type.
std::optional<std::filesystem::path> find_outermost_cgroup() {
  for (const std::filesystem::path mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    const bool is_whole = std::filesystem::exists(mount / "cgroup.subtree_control") &&
                          !std::filesystem::exists(mount / "cgroup.type");
    if (is_whole && ::access((mount / "cgroup.subtree_control").c_str(), W_OK) == 0) return mount;
  }
  return std::nullopt;
}

std::vector<std::string> words_in(const std::filesystem::path& path) {
  const std::string text = test::read_text(path);
  return split(text.substr(0, text.find('\n')), ' ');
}

bool has_folders(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_directory()) return true;
  return false;
}

// A cgroup that contains this process during the test, with a controller for the cgroups within it.
class KernelCgroups : public testing::Test {
 protected:
  void SetUp() override {
    const auto outermost = find_outermost_cgroup();
    if (!outermost || words_in(*outermost / "cgroup.controllers").front().empty())
      GTEST_SKIP() << "no cgroup of version 2 can be made here";
    outermost_ = *outermost;
    controller_ = words_in(outermost_ / "cgroup.controllers").front();
    before_ = own();
    given_before_ = test::read_text(outermost_ / kGiven);
    test::write_text(outermost_ / kGiven, "+" + controller_);
    name_ = "ratoon-test-" + std::to_string(::getpid());
    ASSERT_EQ(::mkdir((outermost_ / name_).c_str(), 0755), 0);
    test::write_text(outermost_ / name_ / kProcs, "0");
    ASSERT_EQ(own(), "/" + name_);
    std::filesystem::create_directories(root_ / "proc/self");
    std::filesystem::create_directories(root_ / "sys/fs");
    std::filesystem::create_directory_symlink(outermost_, root_ / "sys/fs/cgroup");
    test::write_text(root_ / "proc/self/cgroup", "0::/" + name_ + "\n");
  }
  void TearDown() override {
    if (name_.empty()) return;
    test::write_text(outermost_ / std::filesystem::path(before_).relative_path() / kProcs, "0");
    EXPECT_EQ(::rmdir((outermost_ / name_).c_str()), 0);
    if (given_before_.find(controller_) == std::string::npos)
      test::write_text(outermost_ / kGiven, "-" + controller_);
  }

  // The path of the cgroup of version 2 that contains this process now.
  static std::string own() {
    for (const std::string& line : split(test::read_text("/proc/self/cgroup"), '\n'))
      if (line.starts_with("0::")) return line.substr(3);
    return {};
  }

  static constexpr const char* kProcs = "cgroup.procs";
  static constexpr const char* kGiven = "cgroup.subtree_control";
  std::filesystem::path outermost_;
  std::string controller_;
  std::string before_;
  std::string given_before_;
  std::string name_;
  test::TemporaryFolder root_;
};

TEST_F(KernelCgroups, OfVersion2TheRunnerMakesRoomAndComesBack) {
  const auto folder = outermost_ / name_;
  {
    const Cgroups cgroups = Cgroups::open(root_.path(), "run", {controller_});
    EXPECT_THAT(cgroups.unenforced_limits(), testing::IsEmpty());
    EXPECT_EQ(own(), "/" + name_ + "/ratoon-runner") << "one with processes gives nothing to those within it";
    EXPECT_THAT(words_in(folder / kGiven), testing::Contains(controller_));
    std::vector<std::filesystem::path> runs;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().filename().string().starts_with("ratoon-run-")) runs.push_back(entry.path());
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_THAT(words_in(runs[0] / kGiven), testing::Contains(controller_))
        << "members can be held to limits";
  }
  EXPECT_EQ(own(), "/" + name_);
  EXPECT_FALSE(has_folders(folder)) << "nothing is left";
  EXPECT_EQ(test::read_text(folder / kGiven).find(controller_), std::string::npos);
}

TEST_F(KernelCgroups, OneWithoutTheControllerIsLeftAsItIs) {
  const Cgroups cgroups = Cgroups::open(root_.path(), "run", {"no-such-controller"});
  ASSERT_EQ(cgroups.unenforced_limits().size(), 1U);
  EXPECT_THAT(cgroups.unenforced_limits()[0],
              testing::HasSubstr("is a cgroup without a no-such-controller controller"));
  EXPECT_EQ(own(), "/" + name_);
  EXPECT_FALSE(has_folders(outermost_ / name_));
}

}  // namespace
}  // namespace ratoon::local
