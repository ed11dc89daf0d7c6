// What an engine does with notice where steps are long and the disk is quick: saves are measured as they are,
// not as late as the end of a step shows them.
#include <gtest/gtest.h>

#include <ratoon/failure.h>

#include "agent/src/session/engine.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/quiet_link.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::engine_drain_test {
namespace {

using namespace std::chrono_literals;

class EngineDrain : public testing::Test {
 protected:
  // What was saved before it is on the disk long before it ends.
  void step(Duration takes) {
    ASSERT_TRUE(saver.settle(1min));
    clock->advance(takes);
    engine.end_step();
  }

  const test::TemporaryFolder folder;
  const Options options{
      .save_folder = folder.path().string(), .run_name = "", .save_every = Every::steps(2), .member = {}};
  test::QuietLink link;
  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  metrics::Meters meters;
  session::Places places{options, test::borrowed(meters)};
  checkpoint::Saver saver{checkpoint::Saver::open(places.home(), draw_name(), clock, {.pause = {}}).value()};
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

}  // namespace
}  // namespace ratoon::engine_drain_test
