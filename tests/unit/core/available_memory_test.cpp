#include "base/core/available_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::available_memory_test {
namespace {

namespace fs = std::filesystem;

class AvailableMemory : public testing::Test {
 protected:
  void put(const std::string& path, std::string_view text) {
    fs::create_directories((root() / path).parent_path());
    test::write_text(root() / path, text);
  }
  [[nodiscard]] const fs::path& root() const { return folder_.path(); }
  void SetUp() override {
    put("proc/meminfo", "MemTotal:  900 kB\nMemFree:   10 kB\nMemAvailable:   500 kB\n");
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(AvailableMemory, IsWhatTheMachineHasWhereThereIsNoLimit) {
  EXPECT_EQ(available_memory(root()).value(), 500u * 1024);
  put("proc/self/cgroup", "0::/user.slice\n");
  put("sys/fs/cgroup/user.slice/memory.max", "max\n");
  put("sys/fs/cgroup/user.slice/memory.current", "4096\n");
  EXPECT_EQ(available_memory(root()).value(), 500u * 1024);
}

TEST_F(AvailableMemory, IsWhatIsLeftOfTheLimitAndTheCacheCounts) {
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "100000\n");
  put("sys/fs/cgroup/memory.current", "90000\n");
  EXPECT_EQ(available_memory(root()).value(), 10000u);
  put("sys/fs/cgroup/memory.stat", "anon 60000\ninactive_file 25000\nactive_file 5000\n");
  EXPECT_EQ(available_memory(root()).value(), 35000u);
  put("sys/fs/cgroup/memory.current", "200000\n");
  EXPECT_EQ(available_memory(root()).value(), 0u);
}

TEST_F(AvailableMemory, IsTheLeastOfAllGroupsAroundTheProcess) {
  put("proc/self/cgroup", "0::/pods/mine/inner\n");
  put("sys/fs/cgroup/pods/mine/inner/memory.max", "80000\n");
  put("sys/fs/cgroup/pods/mine/inner/memory.current", "10000\n");
  put("sys/fs/cgroup/pods/memory.max", "200000\n");
  put("sys/fs/cgroup/pods/memory.current", "140000\n");
  EXPECT_EQ(available_memory(root()).value(), 60000u);
}

TEST_F(AvailableMemory, KnowsTheFirstVersionOfGroups) {
  put("proc/self/cgroup", "5:cpu,memory:/process/7\n4:pids:/\n0::/\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
  put("sys/fs/cgroup/memory/process/7/memory.limit_in_bytes", "50000\n");
  put("sys/fs/cgroup/memory/process/7/memory.usage_in_bytes", "30000\n");
  put("sys/fs/cgroup/memory/process/7/memory.stat", "inactive_file 1\ntotal_inactive_file 5000\n");
  EXPECT_EQ(available_memory(root()).value(), 25000u);
}

// In a container the path may be the host's, which is not visible from inside.
TEST_F(AvailableMemory, LooksAtTheMountWhereThePathIsNotThere) {
  put("proc/self/cgroup", "0::/host/kubepods/pod1\n");
  put("sys/fs/cgroup/memory.max", "70000\n");
  put("sys/fs/cgroup/memory.current", "10000\n");
  EXPECT_EQ(available_memory(root()).value(), 60000u);
}

TEST_F(AvailableMemory, SaysWhatItCannotRead) {
  fs::remove(root() / "proc/meminfo");
  EXPECT_THAT(available_memory(root()).error().message(), testing::HasSubstr("MemAvailable"));
}

TEST(AvailableMemoryHere, IsThere) {
  EXPECT_GT(available_memory().value(), 1u << 20);
}

}  // namespace
}  // namespace ratoon::available_memory_test
