// A save runs out of memory at each of its allocations: its slot is free for the next save.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/saver/saver.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/scarce_memory.h"

namespace ratoon::checkpoint::stage_throws_test {
namespace {

using test::scarce_memory;

Result<SavePromise> save(Saver& saver, std::uint64_t step) {
  const std::string weights(100'000, static_cast<char>(step));
  const TensorView view{
      .name = "weights", .shape = {weights.size()}, .bytes = std::as_bytes(std::span(weights))};
  return saver.save(Step(step), std::span(&view, 1));
}

// Whether a save threw whose allocation after so many others failed.
bool throws(Saver& saver, long after) {
  scarce_memory.left = after;
  scarce_memory.failing = 1;
  bool has_thrown = false;
  try {
    static_cast<void>(save(saver, 10));
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  scarce_memory.failing = 0;
  return has_thrown;
}

TEST(StageThrows, AndItsOnlySlotIsFree) {
  long after = 0;
  for (bool has_thrown = true; has_thrown; ++after) {
    auto saver = Saver::open(std::make_shared<test::ModelDisk>(), "mark", std::make_shared<SystemClock>(),
                             {.slots_max = 1, .has_writer_thread = false})
                     .value();
    saver.begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 2}});
    has_thrown = throws(saver, after);
    const auto next = save(saver, 20);
    ASSERT_TRUE(next) << after << ": " << next.error().message();
    EXPECT_TRUE(next->wait(SaveLevel::kStaged, Duration(0))) << after;
    EXPECT_EQ(saver.poll().committed->step, Step(20)) << after;
  }
  EXPECT_GT(after, 10);
}

}  // namespace
}  // namespace ratoon::checkpoint::stage_throws_test
