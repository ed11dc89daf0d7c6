#include "operator/core/progress.h"

#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::core {
namespace {

using test::beat;
using test::checkpoint;
using test::process;

api::TrainingJobStatus after(api::TrainingJobStatus status, const std::vector<Beat>& beats) {
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

TEST(NoteProgress, TakesANewerAttemptForNewerWhateverItsStep) {
  auto status = test::job().status;
  status.attempt = Attempt(2);
  status.last_checkpoint = test::resume_point(1, 500);
  EXPECT_EQ(after(status, {beat(process(0), 2, 45, 1, checkpoint(2, 40))}).last_checkpoint,
            test::resume_point(2, 40));
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

TEST(NoteLeft, IsWhatThisWorldSavedWhereAllCanReachIt) {
  api::TrainingJobStatus status = test::job(1).status;
  status.attempt = Attempt(3);
  auto facts = test::waiting(process(0), 3, {checkpoint(2, 90), checkpoint(3, 50, "staged")});
  note_left({facts}, status);
  EXPECT_EQ(status.last_checkpoint, std::nullopt);
  facts.waiting->inventory.push_back(checkpoint(3, 40));
  facts.waiting->left_attempt = Attempt(2);
  note_left({facts}, status);
  EXPECT_EQ(status.last_checkpoint, std::nullopt) << "it was not in this world";
  facts.waiting->left_attempt = Attempt(3);
  note_left({facts}, status);
  EXPECT_EQ(status.last_checkpoint, test::resume_point(3, 40));
}

}  // namespace
}  // namespace ratoon::core
