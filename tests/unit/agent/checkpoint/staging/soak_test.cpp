// A thousand saves on a real file system: memory, open files and the folder are the same at the end as after
// the first hundred.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/saver/saver.h"
#include "tests/support/crash/effort.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::soak_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::size_t kStateBytes = 256 * 1024;

std::uint64_t resident_bytes() {
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t entries_below(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator()));
}

struct Usage {
  std::uint64_t resident_bytes = soak_test::resident_bytes();
  std::size_t open_files = entries_below("/proc/self/fd");
};

// The folder is in memory if possible: a thousand waits for a disk add no information.
fs::path quick_folder() {
  return ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

TEST(Soak, AThousandSavesLeaveMemoryAndFilesAsTheyWere) {
  const test::TemporaryFolder folder(quick_folder());
  const std::shared_ptr<Disk> disk = *RealDisk::open_folder(folder / "run");
  auto saver = Saver::open(disk, "mark", std::make_shared<SystemClock>(), {.pause = 1ms}).value();
  saver.begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 2}});
  std::string weights(kStateBytes, '\0');
  const TensorView views[] = {
      {.name = "weights", .shape = {weights.size()}, .bytes = std::as_bytes(std::span(weights))}};

  const std::uint64_t saves = test::afforded(1000);
  Usage early;
  std::size_t entries = 0;
  for (std::uint64_t step = 1; step <= saves; ++step) {
    weights.assign(kStateBytes, static_cast<char>(step));
    const auto ticket = saver.save(Step(step), views);
    ASSERT_TRUE(ticket) << ticket.error().message();
    static_cast<void>(saver.poll());
    if (step != saves / 10 && step != saves) continue;
    ASSERT_TRUE(saver.wait_until_written(60s));
    ASSERT_EQ(saver.poll().committed->step, Step(step));
    const Usage now;
    const std::size_t entries_now = entries_below(folder.path());
    if (step == saves) {
      EXPECT_EQ(now.open_files, early.open_files);
      EXPECT_EQ(entries_now, entries) << "what is not kept goes";
      // A sanitizer keeps freed memory.
      const bool says_something = test::kEffortPercent == 100;
      EXPECT_TRUE(!says_something || now.resident_bytes < early.resident_bytes + 16 * kStateBytes)
          << early.resident_bytes << " bytes, and " << now.resident_bytes << " after 900 saves more";
    }
    early = now;
    entries = entries_now;
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::soak_test
