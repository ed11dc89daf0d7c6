// The engine's reports of its process's phase, and of the limit of the phase.
#include <gtest/gtest.h>

#include "agent/src/session/engine/engine.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/quiet_link.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::engine_phases_test {
namespace {

using namespace std::chrono_literals;
using session::Part;

class NotingLink final : public test::QuietLink {
 public:
  void note_position(const session::ProcessReport& position) override { noted = position; }
  session::WorldStatus world_status() const override { return said; }
  bool is_hung() const override { return hung; }

  session::ProcessReport noted;
  session::WorldStatus said = session::WorldStatus::kGoOn;
  bool hung = false;
};

class EnginePhases : public testing::Test {
 protected:
  void step() {
    if (assignment.world_size > 1) engine.agree(0);
    engine.end_step();
  }

  const test::TemporaryFolder folder;
  const Options options{
      .save_folder = folder.path().string(), .run_name = "", .save_every = Every::steps(100), .member = {}};
  NotingLink link;
  ManualClock clock;
  metrics::Meters meters;
  const std::shared_ptr<session::TimeAccounts> accounts = std::make_shared<session::TimeAccounts>(clock);
  session::CheckpointLocations places{options, test::borrowed(meters)};
  checkpoint::Saver saver{checkpoint::Saver::open(places.home(), random_hex_name(),
                                                  std::make_shared<SystemClock>(),
                                                  {.pause = {}, .has_writer_thread = false})
                              .value()};
  const Assignment assignment{.attempt = Attempt(1), .rank = Rank(0), .world_size = 2};
  Session::Engine engine{{.options = options,
                          .places = places,
                          .saver = saver,
                          .link = link,
                          .clock = clock,
                          .meters = meters,
                          .accounts = accounts},
                         assignment};
  const session::ProcessReport& noted = link.noted;
};

TEST_F(EnginePhases, AStepMayTakeSoLongAndTheRestItsTime) {
  EXPECT_EQ(noted.phase, ProcessPhase::kLoad);
  engine.begin(Until::steps(20));
  EXPECT_EQ(noted.allowed, std::nullopt) << "the first step";
  step();
  EXPECT_EQ(noted.allowed, 10min);
  for (int i = 0; i < 8; ++i) step();
  EXPECT_EQ(noted.allowed, 30s);
  engine.enter_phase_within_step(ProcessPhase::kValidate);
  EXPECT_EQ(noted.allowed, std::nullopt);
  engine.enter_phase_within_step(ProcessPhase::kCompute);
  EXPECT_EQ(noted.allowed, 30s);
  EXPECT_FALSE(noted.is_doing_final_work);
  while (!engine.is_at_end()) step();
  EXPECT_EQ(noted.allowed, std::nullopt) << "behind the loop a program evaluates";
  EXPECT_TRUE(noted.is_doing_final_work);
}

TEST_F(EnginePhases, AValidationMayReadAndAddUpForAsLongAsItLasts) {
  engine.begin(Until::steps(20));
  for (int i = 0; i < 9; ++i) step();
  ASSERT_EQ(noted.allowed, 30s);
  engine.enter_phase_within_step(ProcessPhase::kValidate);
  for (const auto within : {ProcessPhase::kData, ProcessPhase::kCollective, ProcessPhase::kValidate}) {
    engine.enter_phase_within_step(within);
    EXPECT_EQ(noted.allowed, std::nullopt);
  }
  engine.enter_phase_within_step(ProcessPhase::kCompute);
  engine.enter_phase_within_step(ProcessPhase::kData);
  EXPECT_NE(noted.allowed, std::nullopt) << "the validation is over";
}

TEST_F(EnginePhases, TheLimitHoldsAgainForWhatPrecedesASave) {
  engine.begin(Until::steps(20));
  for (int i = 0; i < 9; ++i) step();
  std::optional<Duration> allowed;
  engine.before_saves_of_all([&] {
    engine.enter_phase_within_step(ProcessPhase::kCollective);
    allowed = noted.allowed;
  });
  static_cast<void>(engine.ask_to_save(""));
  for (int i = 0; i < 2; ++i) {  // with two ranks, the request takes effect one step later
    engine.enter_phase_within_step(ProcessPhase::kValidate);  // as in the last step of an epoch
    engine.agree(engine.requests());
    engine.end_step();
  }
  EXPECT_NE(allowed, std::nullopt);
}

TEST_F(EnginePhases, ASignOfLifeTellsTheSamePhaseAnew) {
  engine.begin(Until::steps(20));
  for (int i = 0; i < 7; ++i) step();
  engine.enter_phase_within_step(ProcessPhase::kData);
  link.noted = {};
  engine.still_alive();
  EXPECT_EQ(noted.phase, ProcessPhase::kData);
  EXPECT_EQ(noted.step, Step(7));
}

TEST_F(EnginePhases, WhoHasLeftItsWorldMayTakeItsTime) {
  engine.begin(Until::steps(20));
  for (int i = 0; i < 7; ++i) step();
  link.said = session::WorldStatus::kWorldChanged;
  EXPECT_THROW(step(), Interrupted);
  EXPECT_FALSE(noted.is_doing_final_work) << "the training function has not been left yet";
  EXPECT_NE(noted.allowed, std::nullopt);
  engine.end_reporting();
  EXPECT_TRUE(noted.is_doing_final_work);
  EXPECT_EQ(noted.allowed, std::nullopt);
}

TEST_F(EnginePhases, TheWaitForARankThatHungIsBookedSo) {
  engine.begin(Until::steps(20));
  step();
  clock.advance(1s);
  engine.enter_phase_within_step(ProcessPhase::kCollective);
  clock.advance(31s);
  link.hung = true;
  engine.end_reporting();
  clock.advance(2s);
  const auto account = accounts->process_account();
  EXPECT_EQ(account.of(Part::kHung), 31s);
  EXPECT_EQ(account.of(Part::kUseful), 1s);
  EXPECT_EQ(account.of(Part::kRestarting), 2s);
}

}  // namespace
}  // namespace ratoon::engine_phases_test
