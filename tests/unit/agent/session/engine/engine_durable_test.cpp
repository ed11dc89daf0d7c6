// The checkpoints that an engine calls durable while its saves are read back.
#include <fstream>
#include <future>

#include <gtest/gtest.h>

#include "agent/src/session/engine/engine.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/support/quiet_link.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::engine_durable_test {
namespace {

using namespace std::chrono_literals;
using test::DiskCall;
using test::Moment;

class NotingLink final : public test::QuietLink {
 public:
  void note_position(const session::ProcessReport& position) override { noted = position; }

  session::ProcessReport noted;
};

// Each save removes the one before, and is read back for this reason. The pack of step 20 is damaged once it
// is committed, and reading it waits until the test lets it go on.
class EngineDurable : public testing::Test {
 protected:
  void observe(DiskCall call, const std::string& path, Moment moment) {
    if (moment == Moment::kAfter && call == DiskCall::kRename && path.starts_with("manifests/s0000000020"))
      is_committed = true;
    if (moment != Moment::kBefore || call != DiskCall::kOpen || !is_committed || path != kPack) return;
    is_committed = false;  // for the first one that reads it
    {
      std::fstream pack(folder.path() / kPack, std::ios::in | std::ios::out | std::ios::binary);
      pack.seekp(-1, std::ios::end).put('~');
    }
    reads.set_value();
    may_read.get_future().wait();
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      clock.advance(1s);
      engine.end_step();
    }
  }
  // All of it is on the disk and read back, and the engine knows this.
  void settle() {
    ASSERT_TRUE(saver.wait_until_written(60s));
    steps(1);
  }
  std::uint64_t told() const { return link.noted.committed ? link.noted.committed->step.value() : 0; }

  static constexpr const char* kPack = "packs/a0001/s0000000020/r0000.safetensors";
  const test::TemporaryFolder folder;
  const Options options{.save_folder = folder.path().string(),
                        .run_name = "",
                        .save_every = Every::steps(10),
                        .keep_last = 1,
                        .member = {}};
  NotingLink link;
  ManualClock clock;
  metrics::Meters meters;
  session::CheckpointLocations places{options, test::borrowed(meters)};
  bool is_committed = false;  // the writer's thread
  std::promise<void> reads;
  std::promise<void> may_read;
  checkpoint::Saver saver{
      checkpoint::Saver::open(std::make_shared<test::ObservedDisk>(
                                  places.home(), [this](DiskCall call, const std::string& path,
                                                        Moment moment) { observe(call, path, moment); }),
                              random_hex_name(), std::make_shared<SystemClock>(), {})
          .value()};
  Session::Engine engine{
      {.options = options, .places = places, .saver = saver, .link = link, .clock = clock, .meters = meters},
      {.attempt = Attempt(1), .rank = Rank(0), .world_size = 1}};
};

TEST_F(EngineDurable, WhatDoesNotReadBackIsTakenBack) {
  engine.begin(Until::steps(100));
  steps(10);
  settle();
  EXPECT_EQ(told(), 10u);
  const Timestamp since = meters.durable_since.at();
  steps(9);
  reads.get_future().wait();
  steps(1);
  EXPECT_EQ(told(), 20u) << "committed, and being read back";
  EXPECT_EQ(meters.durable_step, 20u);
  EXPECT_GT(meters.durable_since.at(), since);

  testing::internal::CaptureStderr();
  may_read.set_value();
  settle();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("old checkpoints are kept for now: "),
            std::string::npos);
  EXPECT_EQ(told(), 10u) << "and this one is called so before there is a next one";
  ASSERT_EQ(link.noted.damaged.size(), 1u);
  EXPECT_EQ(link.noted.damaged.front().step, Step(20));
  EXPECT_FALSE(link.noted.damaged.front().is_complete);
  EXPECT_EQ(meters.durable_step, 10u);
  EXPECT_EQ(meters.durable_since.at(), since);
  EXPECT_EQ(meters.missed_saves, 1u);

  steps(8);
  settle();
  EXPECT_EQ(told(), 30u);
  EXPECT_EQ(meters.durable_step, 30u);
}

}  // namespace
}  // namespace ratoon::engine_durable_test
