#include "operator/local/members/cgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "operator/local/members/cgroup_rules.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::local::cgroups_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::uint64_t kMib = 1U << 20U;

std::vector<std::string> written(const std::vector<CgroupSetting>& settings) {
  std::vector<std::string> lines;
  for (const auto& setting : settings)
    lines.push_back(setting.file + "=" + setting.value + (setting.is_required ? "" : "?"));
  return lines;
}

TEST(CgroupRules, AControllerIsTakenWhereALimitOfAnyRoleTakesIt) {
  api::TrainingJobSpec spec;
  spec.roles = {{.name = "a", .replicas = {}, .command = {}, .environment = {}},
                {.name = "b", .replicas = {}, .command = {}, .environment = {}}};
  EXPECT_THAT(needed_controllers(spec), IsEmpty());
  spec.roles[1].limits.cpu_millis = 1;
  EXPECT_THAT(needed_controllers(spec), ElementsAre("cpu"));
  spec.roles[0].limits.memory_bytes = 1;
  EXPECT_THAT(needed_controllers(spec), ElementsAre("memory", "cpu"));
}

TEST(CgroupRules, EachVersionHasFilesOfItsOwn) {
  const api::ResourceLimits limits{.memory_bytes = 64 * kMib, .cpu_millis = 1500};
  EXPECT_THAT(written(cgroup_settings(limits, kMemoryController, false)),
              ElementsAre("memory.limit_in_bytes=67108864", "memory.memsw.limit_in_bytes=67108864?"));
  EXPECT_THAT(written(cgroup_settings(limits, kMemoryController, true)),
              ElementsAre("memory.max=67108864", "memory.swap.max=0?", "memory.oom.group=1?"));
  EXPECT_THAT(written(cgroup_settings(limits, kCpuController, false)),
              ElementsAre("cpu.cfs_period_us=100000", "cpu.cfs_quota_us=150000"));
  EXPECT_THAT(written(cgroup_settings(limits, kCpuController, true)), ElementsAre("cpu.max=150000 100000"));
  EXPECT_THAT(written(cgroup_settings({.cpu_millis = 1}, kCpuController, true)),
              ElementsAre("cpu.max=1000 100000"));
}

TEST(CgroupRules, OneWithProcessesGivesNothingToThoseWithinIt) {
  UnifiedCgroup own{.folder = "/sys/fs/cgroup/scope",
                    .available_controllers = "cpu memory pids\n",
                    .enabled_controllers = "memory\n"};
  EXPECT_FALSE(must_move_to_child(own, kMemoryController).value());
  EXPECT_TRUE(must_move_to_child(own, kCpuController).value());
  own.has_other_processes = true;
  EXPECT_FALSE(must_move_to_child(own, kMemoryController).value())
      << "the outermost one gives and has processes";
  EXPECT_THAT(
      must_move_to_child(own, kCpuController).error().message(),
      StartsWith("/sys/fs/cgroup/scope is a cgroup that also has other processes: put `systemd-run "));
  own = {.folder = "/sys/fs/cgroup/scope",
         .available_controllers = "cpuset memory_extra\n",
         .enabled_controllers = ""};
  EXPECT_THAT(must_move_to_child(own, kMemoryController).error().message(),
              StartsWith("/sys/fs/cgroup/scope is a cgroup without a memory controller: put `systemd-run "));
}

TEST(CgroupRules, TheCommandEntersEachCgroupBeforeItBegins) {
  EXPECT_THAT(
      command_in_cgroups({"/a/procs", "/b/procs"}, {"/bin/train", "two words"}),
      ElementsAre("/bin/sh", "-c", "echo 0 > \"$1\" && shift && echo 0 > \"$1\" && shift && exec \"$@\"",
                  "sh", "/a/procs", "/b/procs", "/bin/train", "two words"));
}

// dash drops variables with names that it does not allow, so a limit would change the environment.
TEST(CgroupRules, AVariableThatAShellDropsIsSetBehindIt) {
  const auto words =
      command_in_cgroups({"/a/procs"}, {"/bin/train", "x"},
                         {"PATH=/bin", "my.option=a b", "_A1=1", "1A=2", "with-dash=", "A=b.c-d"});
  EXPECT_EQ(
      std::vector<std::string>(words.begin() + 5, words.end()),
      (std::vector<std::string>{"env", "--", "my.option=a b", "1A=2", "with-dash=", "/bin/train", "x"}));
}

// A tree of plain files in place of the kernel's.
class CgroupsTest : public testing::Test {
 protected:
  void put(const std::string& path, std::string_view text) {
    fs::create_directories((root() / path).parent_path());
    test::write_text(root() / path, text);
  }
  [[nodiscard]] std::string text(const fs::path& path) const { return test::read_text(path); }
  // The one folder that a run has made in `own`.
  [[nodiscard]] fs::path run_in(const std::string& own) const {
    for (const auto& entry : fs::directory_iterator(root() / own))
      if (entry.path().filename().string().starts_with("ratoon-run-")) return entry.path();
    return {};
  }
  // Plain files keep a folder in existence; the kernel's files disappear with it.
  void remove_files() {
    for (const auto& entry : fs::recursive_directory_iterator(root() / "sys"))
      if (entry.is_regular_file()) files_.push_back(entry.path());
    for (const auto& file : files_) fs::remove(file);
  }
  [[nodiscard]] const fs::path& root() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
  std::vector<fs::path> files_;
};

TEST_F(CgroupsTest, OfVersion1EachControllerHasATreeOfItsOwn) {
  put("proc/self/cgroup", "4:memory:/a/b\n1:cpu,cpuacct:/c\n0::/\n");
  fs::create_directories(root() / "sys/fs/cgroup/memory/a/b");
  fs::create_directories(root() / "sys/fs/cgroup/cpu/c");
  {
    const Cgroups cgroups = Cgroups::open(root(), "run", {kMemoryController, kCpuController});
    EXPECT_THAT(cgroups.unenforced_limits(), IsEmpty());
    const auto command = cgroups.make_confined_command("m-0", {.memory_bytes = 64 * kMib, .cpu_millis = 500},
                                                       {"/bin/sh", "x"});
    ASSERT_TRUE(command) << command.error().message();
    const fs::path memory = run_in("sys/fs/cgroup/memory/a/b") / "m-0";
    const fs::path cpu = run_in("sys/fs/cgroup/cpu/c") / "m-0";
    EXPECT_EQ(text(memory / "memory.limit_in_bytes"), "67108864");
    EXPECT_EQ(text(cpu / "cpu.cfs_quota_us"), "50000");
    EXPECT_EQ(*command,
              command_in_cgroups({memory / "cgroup.procs", cpu / "cgroup.procs"}, {"/bin/sh", "x"}));

    EXPECT_FALSE(cgroups.was_out_of_memory("m-0"));
    test::write_text(memory / "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    EXPECT_FALSE(cgroups.was_out_of_memory("m-0"));
    test::write_text(memory / "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    EXPECT_TRUE(cgroups.was_out_of_memory("m-0"));
    remove_files();
  }
  EXPECT_EQ(run_in("sys/fs/cgroup/memory/a/b"), "") << "removed at the end";
  EXPECT_EQ(run_in("sys/fs/cgroup/cpu/c"), "");
}

TEST_F(CgroupsTest, OfVersion2TheRunnerMakesRoomAndComesBack) {
  const std::string own = "sys/fs/cgroup/user/scope";
  put("proc/self/cgroup", "0::/user/scope\n");
  put(own + "/cgroup.controllers", "cpu memory\n");
  put(own + "/cgroup.subtree_control", "");
  put(own + "/cgroup.procs", std::to_string(::getpid()) + "\n");
  {
    const Cgroups cgroups = Cgroups::open(root(), "run", {kMemoryController});
    EXPECT_THAT(cgroups.unenforced_limits(), IsEmpty());
    EXPECT_EQ(text(root() / own / "ratoon-runner/cgroup.procs"), "0");
    EXPECT_EQ(text(root() / own / "cgroup.subtree_control"), "+memory");
    EXPECT_EQ(text(run_in(own) / "cgroup.subtree_control"), "+memory");
    ASSERT_TRUE(cgroups.make_confined_command("m-0", {.memory_bytes = 64 * kMib}, {"/bin/sh"}));
    EXPECT_EQ(text(run_in(own) / "m-0" / "memory.max"), "67108864");
    test::write_text(run_in(own) / "m-0" / "memory.events", "low 0\noom 1\noom_kill 1\noom_group_kill 0\n");
    EXPECT_TRUE(cgroups.was_out_of_memory("m-0"));
    remove_files();
  }
  EXPECT_EQ(run_in(own), "");
  EXPECT_FALSE(fs::exists(root() / own / "ratoon-runner"));
  EXPECT_EQ(text(root() / own / "cgroup.subtree_control"), "-memory");
  EXPECT_EQ(text(root() / own / "cgroup.procs"), "0");
}

TEST_F(CgroupsTest, WithOthersInItNothingIsTouchedAndItIsSaid) {
  const std::string own = "sys/fs/cgroup/session";
  put("proc/self/cgroup", "0::/session\n");
  put(own + "/cgroup.controllers", "cpu memory\n");
  put(own + "/cgroup.procs", std::to_string(::getpid()) + "\n" + std::to_string(::getppid()) + "\n");
  const Cgroups cgroups = Cgroups::open(root(), "run", {kMemoryController, kCpuController});
  ASSERT_EQ(cgroups.unenforced_limits().size(), 2U);
  EXPECT_THAT(cgroups.unenforced_limits()[0],
              testing::AllOf(StartsWith("resources.limits.memory is not enforced here: "),
                             HasSubstr("also has other processes"), HasSubstr("members are not limited")));
  EXPECT_EQ(run_in(own), "");
  EXPECT_FALSE(fs::exists(root() / own / "ratoon-runner"));
  EXPECT_THAT(cgroups.make_confined_command("m-0", {.memory_bytes = kMib}, {"train", "-x"}).value(),
              ElementsAre("train", "-x"));
}

TEST_F(CgroupsTest, AMachineWithoutAnySaysSo) {
  EXPECT_THAT(Cgroups::open(root(), "run", {kMemoryController}).unenforced_limits(),
              ElementsAre("resources.limits.memory is not enforced here: this machine has no cgroups; "
                          "members are not limited"));
}

TEST_F(CgroupsTest, NothingIsMadeForAJobWithoutLimits) {
  put("proc/self/cgroup", "4:memory:/a\n");
  fs::create_directories(root() / "sys/fs/cgroup/memory/a");
  const Cgroups cgroups = Cgroups::open(root(), "run", {});
  EXPECT_EQ(run_in("sys/fs/cgroup/memory/a"), "");
  EXPECT_THAT(cgroups.make_confined_command("m-0", {}, {"train"}).value(), ElementsAre("train"));
}

}  // namespace
}  // namespace ratoon::local::cgroups_test
