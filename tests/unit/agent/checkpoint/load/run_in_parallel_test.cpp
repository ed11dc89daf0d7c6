#include "agent/src/checkpoint/load/run_in_parallel.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace ratoon::checkpoint::run_in_parallel_test {
namespace {

TEST(OnThreads, EachTaskIsDoneOnce) {
  for (const std::size_t threads : {1U, 2U, 7U}) {
    std::vector<std::atomic<int>> times(100);
    const auto done = run_in_parallel(times.size(), threads, [&](std::size_t i, std::size_t thread) {
      EXPECT_LT(thread, threads);
      ++times[i];
      return Result<void>();
    });
    EXPECT_TRUE(done);
    for (const auto& one : times) EXPECT_EQ(one, 1);
  }
  EXPECT_TRUE(run_in_parallel(
      0, 3, [](std::size_t, std::size_t) -> Result<void> { throw std::logic_error("none"); }));
}

TEST(OnThreads, TheFirstErrorStopsTheRestAndIsTold) {
  std::atomic<int> done = 0;
  const auto result = run_in_parallel(1000, 3, [&](std::size_t i, std::size_t) -> Result<void> {
    ++done;
    if (i >= 5) return Error(ErrorKind::kIo, std::to_string(i));
    return {};
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "5");
  EXPECT_LE(done, 8);
}

TEST(OnThreads, AnExceptionIsAnError) {
  const auto result = run_in_parallel(
      4, 2, [](std::size_t, std::size_t) -> Result<void> { throw std::runtime_error("no memory"); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "reading a checkpoint: no memory");
}

}  // namespace
}  // namespace ratoon::checkpoint::run_in_parallel_test
