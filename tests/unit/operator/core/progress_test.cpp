#include "operator/core/status/progress.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/operator_builders.h"

namespace ratoon::core::progress_test {
namespace {

using test::beat;
using test::checkpoint;
using test::process;

api::TrainingJobStatus after(api::TrainingJobStatus status, const std::vector<Heartbeat>& beats) {
  std::vector<api::ProcessFacts> processes;
  for (const auto& b : beats) {
    processes.push_back(test::heard(b.process));
    processes.back().beat = b;
  }
  note_progress(processes, status);
  return status;
}

TEST(NoteProgress, TakesTheFurthestOfAll) {
  const auto status = after(test::job().status, {beat(process(0), 1, 12, 1, checkpoint(1, 5)),
                                                 beat(process(1), 1, 11, 1, checkpoint(1, 10))});
  EXPECT_EQ(status.step, Step(12));
  EXPECT_EQ(status.last_checkpoint, test::resume_point(1, 10));
}

TEST(NoteProgress, NeverGoesBackWithinAnAttempt) {
  auto status = test::job().status;
  status.step = Step(20);
  status.last_checkpoint = test::resume_point(1, 20);
  EXPECT_EQ(after(status, {beat(process(0), 1, 12, 1, checkpoint(1, 10))}), status);
}

Heartbeat with_outlook(std::uint64_t attempt, const ProgressEstimate& outlook) {
  Heartbeat told = beat(process(0), attempt, 12, 1, std::nullopt);
  told.outlook = outlook;
  return told;
}

TEST(NoteProgress, KeepsWhatIsToComeAndTheLossOfTheOneWhoCountsThem) {
  const auto told = with_outlook(
      1, {.position = 768, .total = 4096, .unit = "sample", .loss = 0.25, .best = "error 0.25 at step 40"});
  const auto status = after(test::job().status, {told, beat(process(1), 1, 13, 1, std::nullopt)});
  EXPECT_EQ(status.outlook, *told.outlook);
  EXPECT_EQ(after(status, {beat(process(1), 1, 14, 1, std::nullopt)}).outlook, status.outlook)
      << "whoever counts nothing has nothing to say of it";
  EXPECT_EQ(after(status, {with_outlook(2, {.position = 1, .total = 2, .unit = "step", .loss = {}})}), status)
      << "a beat of another attempt";
}

TEST(NoteProgress, KeepsOfAnOutlookWhatComesBackAsItWasWritten) {
  auto status =
      after(test::job().status,
            {with_outlook(1, {.position = 12, .total = 0, .unit = "step", .loss = 0.693147180559945})});
  EXPECT_EQ(status.outlook, (ProgressEstimate{.position = 0, .total = 0, .unit = "", .loss = 0.693147}))
      << "of what has no end nobody asks how far it is";
  status = after(status, {with_outlook(1, {.position = 12, .total = 90, .unit = "step", .loss = NAN})});
  EXPECT_EQ(status.outlook, (ProgressEstimate{.position = 12, .total = 90, .unit = "step", .loss = {}}));
  for (const double loss : {1e300, -1e-300, 1.79769313486231570e308, 4.9e-324, 123456789.0, 0.0}) {
    status = after(status, {with_outlook(1, {.position = 0, .total = 0, .unit = "step", .loss = loss})});
    const auto text = api::encode_status(status)["progress"]["loss"].dump();
    EXPECT_EQ(nlohmann::json::parse(text).get<double>(), status.outlook.loss) << text;
    EXPECT_EQ(after(status, {with_outlook(1, {.position = 0, .total = 0, .unit = "step", .loss = loss})}),
              status);
  }
}

TEST(NoteProgress, TakesANewerAttemptForNewerWhateverItsStep) {
  auto status = test::job().status;
  status.attempt = Attempt(2);
  status.last_checkpoint = test::resume_point(1, 500);
  EXPECT_EQ(after(status, {beat(process(0), 2, 45, 1, checkpoint(2, 40))}).last_checkpoint,
            test::resume_point(2, 40));
}

// Rank 0 reads back its commit; others saw the commit, and go on reporting it.
Heartbeat of_rank_0(std::optional<InventoryEntry> committed, std::vector<InventoryEntry> damaged) {
  Heartbeat told = beat(process(0), 1, 25, 1, std::move(committed));
  for (auto& entry : damaged) entry.is_complete = false;
  told.damaged = std::move(damaged);
  return told;
}

TEST(NoteProgress, GoesBackFromWhatDoesNotReadBackWhoeverSawItCommitted) {
  auto status = test::job().status;
  status.last_checkpoint = test::resume_point(1, 20);
  status.last_checkpoint_tier = "volume";
  const Heartbeat other = beat(process(1), 1, 25, 1, checkpoint(1, 20));
  const Heartbeat one = of_rank_0(checkpoint(1, 10, "local"), {checkpoint(1, 20)});
  for (const auto& beats : {std::vector{one, other}, std::vector{other, one}}) {
    status = after(status, beats);
    EXPECT_EQ(status.last_checkpoint, test::resume_point(1, 10));
    EXPECT_EQ(status.last_checkpoint_tier, "local");
  }
  EXPECT_EQ(after(status, {of_rank_0({}, {checkpoint(1, 10), checkpoint(1, 20)}), other}).last_checkpoint,
            std::nullopt)
      << "there is no other checkpoint";
}

TEST(NoteProgress, GoesOnFromANewerOneThanThatWhichDidNotReadBack) {
  const auto status = after(test::job().status, {of_rank_0(checkpoint(1, 30), {checkpoint(1, 20)}),
                                                 beat(process(1), 1, 31, 1, checkpoint(1, 20))});
  EXPECT_EQ(status.last_checkpoint, test::resume_point(1, 30));
}

TEST(ReportDamagedCheckpoint, IsAWarningWhereAnOlderOneIsTheNewestNow) {
  const auto ten = std::optional(test::resume_point(1, 10));
  const auto twenty = std::optional(test::resume_point(1, 20));
  EXPECT_TRUE(report_damaged_checkpoint(std::nullopt, ten).empty());
  EXPECT_TRUE(report_damaged_checkpoint(ten, ten).empty());
  EXPECT_TRUE(report_damaged_checkpoint(twenty, test::resume_point(2, 10)).empty());
  const auto message = [](const std::vector<Action>& actions) {
    return actions.empty() ? "" : std::get<EmitEvent>(actions.front()).message;
  };
  EXPECT_EQ(
      message(report_damaged_checkpoint(twenty, ten)),
      "the checkpoint of step 20 is damaged; the checkpoint of step 10 is the newest until the next save");
  EXPECT_EQ(message(report_damaged_checkpoint(ten, std::nullopt)),
            "the checkpoint of step 10 is damaged; there is no other checkpoint until the next save");
}

TEST(NoteProgress, HearsNothingFromOtherAttempts) {
  auto status = test::job().status;
  status.attempt = Attempt(2);
  for (const unsigned attempt : {0U, 1U, 3U}) {
    EXPECT_EQ(after(status, {beat(process(0), attempt, 99, 1, checkpoint(attempt, 90))}), status);
  }
}

TEST(NoteProgress, ACheckpointThatIsNotCompleteIsNone) {
  EXPECT_EQ(after(test::job().status, {beat(process(0), 1, 0, 1, checkpoint(1, 5, "volume", false))}),
            test::job().status);
}

TEST(NoteSavesBeforeLeaving, IsWhatThisWorldSavedWhereAllCanReachIt) {
  api::TrainingJobStatus status = test::job(1).status;
  status.attempt = Attempt(3);
  auto facts = test::waiting(process(0), 3, {checkpoint(2, 90), checkpoint(3, 50, "staged")});
  record_saves_before_leaving({facts}, status);
  EXPECT_EQ(status.last_checkpoint, std::nullopt);
  facts.join_request->inventory.push_back(checkpoint(3, 40));
  facts.join_request->left_attempt = Attempt(2);
  record_saves_before_leaving({facts}, status);
  EXPECT_EQ(status.last_checkpoint, std::nullopt) << "it was not in this world";
  facts.join_request->left_attempt = Attempt(3);
  record_saves_before_leaving({facts}, status);
  EXPECT_EQ(status.last_checkpoint, test::resume_point(3, 40));
}

// Beats come once a second: the last steps of a world may be known only by their saves.
TEST(NoteSavesBeforeLeaving, AStepThatWasSavedWasMade) {
  api::TrainingJobStatus status = test::job(1).status;
  status.attempt = Attempt(3);
  status.step = Step(25);
  record_saves_before_leaving({test::waiting(process(0), 3, {checkpoint(2, 90), checkpoint(3, 30)})}, status);
  EXPECT_EQ(status.step, Step(30));
}

}  // namespace
}  // namespace ratoon::core::progress_test
