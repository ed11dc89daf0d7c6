// The reaction of an engine to a notice if steps are long and the disk is fast: saves are measured at their
// real end, not at the end of the step that notices it.
#include <gtest/gtest.h>

#include <ratoon/failure.h>

#include "agent/src/session/engine/engine.h"
#include "agent/src/session/shutdown/notice_setup.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/engine_rank.h"
#include "tests/support/quiet_link.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::engine_drain_test {
namespace {

using namespace std::chrono_literals;

class EngineDrain : public testing::Test {
 protected:
  // The save before it is on the disk long before the attempt ends.
  void step(Duration takes) {
    ASSERT_TRUE(saver.wait_until_written(1min));
    clock->advance(takes);
    engine.end_step();
  }

  const test::TemporaryFolder folder;
  const Options options{
      .save_folder = folder.path().string(), .run_name = "", .save_every = Every::steps(2), .member = {}};
  test::QuietLink link;
  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  metrics::Meters meters;
  session::CheckpointLocations places{options, test::borrowed(meters)};
  checkpoint::Saver saver{
      checkpoint::Saver::open(places.home(), random_hex_name(), clock, {.pause = {}}).value()};
  Session::Engine engine{
      {.options = options, .places = places, .saver = saver, .link = link, .clock = *clock, .meters = meters},
      {.attempt = Attempt(1), .rank = Rank(0), .world_size = 1}};
};

TEST_F(EngineDrain, ASaveThatFitsIsMadeHoweverLongStepsAre) {
  engine.begin(Until::steps(100));
  for (int i = 0; i < 4; ++i) step(40s);
  engine.notify(100s, "the node goes");
  EXPECT_THROW(step(40s), Failure) << "60 s are left: it saves now, and leaves with that";
  EXPECT_EQ(engine.position().committed->step, Step(5));
}

// The notice was given to its attempt, and withdrawn while the process waits for the next one.
TEST(NoticeWatch, ANoticeThatIsWithdrawnForbidsNoWorld) {
  test::ScriptedLink link;
  Options options;
  options.notice.handles_signals = false;
  options.member.coordinator_url = "http://127.0.0.1:9";
  session::NoticeWatch watch(options, link.clock, link.clock.now());
  link.wants.drain_deadline = link.clock.now() + 60s;
  EXPECT_TRUE(watch.can_still_begin_attempt(link));
  link.clock.advance(59s);
  EXPECT_FALSE(watch.can_still_begin_attempt(link)) << "its node goes";
  link.wants.drain_deadline.reset();
  EXPECT_TRUE(watch.can_still_begin_attempt(link));
  bool has_waited = false;
  watch.run_interruptible_wait(link, [&] { has_waited = true; });
  EXPECT_TRUE(has_waited);
}

}  // namespace
}  // namespace ratoon::engine_drain_test
