// The writer runs out of memory: threads that wait for it get the error, and do not wait longer.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/watched_disk.h"
#include "agent/src/checkpoint/saver/saver.h"
#include "tests/support/crash/observed_disk.h"

namespace ratoon::checkpoint::writer_throws_test {
namespace {

TEST(WriterThrows, ASaveEndsAndNothingIsBeingWrittenAfterwards) {
  const auto disk = std::make_shared<test::ObservedDisk>(
      std::make_shared<test::ModelDisk>(), [](test::DiskCall call, const std::string& path, test::Moment) {
        if (call == test::DiskCall::kCreate && path.starts_with("packs/")) throw std::bad_alloc();
      });
  auto saver = Saver::open(disk, "mark", std::make_shared<SystemClock>(), {.slots_max = 0}).value();
  saver.begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 1}});
  const std::string weights(1000, 'w');
  const TensorView view{
      .name = "weights", .shape = {weights.size()}, .bytes = std::as_bytes(std::span(weights))};
  EXPECT_FALSE(saver.save(Step(1), std::span(&view, 1)));
  EXPECT_TRUE(saver.poll().must_end_process);
  EXPECT_TRUE(saver.wait_until_written(std::chrono::seconds(5))) << "the writer has ended";
}

TEST(CallTimer, ACallThatThrowsIsOver) {
  CallTimer watch(std::make_shared<SystemClock>());
  EXPECT_THROW(watch([]() -> int { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_FALSE(watch.current_call_duration());
}

}  // namespace
}  // namespace ratoon::checkpoint::writer_throws_test
