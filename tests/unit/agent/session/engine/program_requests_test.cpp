#include "agent/src/session/engine/program_requests.h"

#include <gtest/gtest.h>

#include "agent/src/session/engine/control_word.h"

namespace ratoon::session::program_requests_test {
namespace {

using namespace std::chrono_literals;
using checkpoint::PendingRequests;

TEST(ProgramRequests, WhatIsWishedForIsToldInTheNextStepAndTakesEffectWithIt) {
  ProgramRequests requests;
  requests.finish("enough");
  EXPECT_EQ(requests.bits(), 0u);
  EXPECT_TRUE(requests.needs_agreement());
  EXPECT_EQ(requests.end_step(EffectTime::kOneStepLater), 0u);
  EXPECT_TRUE(requests.due().is_empty());
  EXPECT_EQ(requests.pending(), (PendingRequests{.finish = "enough"})) << "in the receipt of that step";
  EXPECT_EQ(requests.bits(), control::kFinish);
  EXPECT_EQ(requests.end_step(EffectTime::kOneStepLater), 0u) << "the word of all has it";
  EXPECT_EQ(requests.due().finish, "enough");
  EXPECT_TRUE(requests.pending().is_empty());
  EXPECT_FALSE(requests.needs_agreement());
}

TEST(ProgramRequests, WhereNoRankHasToBeAskedItIsTheVeryStep) {
  ProgramRequests requests;
  const auto ticket = requests.ask_to_save("the lowest loss");
  EXPECT_EQ(requests.end_step(EffectTime::kAtOnce), control::kSave | control::kPinCheckpoint);
  EXPECT_EQ(requests.due().keep, "the lowest loss");
  EXPECT_TRUE(requests.pending().is_empty());
  EXPECT_TRUE(requests.take_ticket().has_value());
  EXPECT_FALSE(requests.take_ticket().has_value());
}

TEST(ProgramRequests, WhatWasResumedIsKnownToAllAndTakesEffectOnce) {
  for (const auto when : {EffectTime::kAtOnce, EffectTime::kOneStepLater}) {
    ProgramRequests requests;
    requests.resume({.save = true, .keep = "the lowest loss", .finish = "enough"});
    EXPECT_FALSE(requests.needs_agreement());
    EXPECT_EQ(requests.bits(), 0u) << "the other ranks have it, too";
    EXPECT_EQ(requests.end_step(when), control::kSave | control::kPinCheckpoint | control::kFinish);
    EXPECT_EQ(requests.due().finish, "enough");
    EXPECT_EQ(requests.end_step(when), 0u);
  }
}

TEST(ProgramRequests, ThoseOfAStepAreOneAndTheFirstReasonStands) {
  ProgramRequests requests;
  static_cast<void>(requests.ask_to_save(""));
  static_cast<void>(requests.ask_to_save("first"));
  static_cast<void>(requests.ask_to_save("second"));
  requests.finish("first");
  requests.finish("second");
  static_cast<void>(requests.end_step(EffectTime::kOneStepLater));
  EXPECT_EQ(requests.pending(), (PendingRequests{.save = true, .keep = "first", .finish = "first"}));
}

// A program that agrees in some of its steps only: no ticket is lost because of it.
TEST(ProgramRequests, EachSaveHasItsTicket) {
  ProgramRequests requests;
  const SaveTicket first = requests.ask_to_save("");
  static_cast<void>(requests.end_step(EffectTime::kOneStepLater));
  const SaveTicket second = requests.ask_to_save("");
  static_cast<void>(requests.end_step(EffectTime::kAtOnce));
  requests.take_ticket().value().reach(SaveLevel::kStaged);
  EXPECT_TRUE(first.wait(SaveLevel::kStaged, 0s));
  EXPECT_FALSE(second.wait(SaveLevel::kStaged, 0s));
  static_cast<void>(requests.end_step(EffectTime::kAtOnce));
  requests.take_ticket().value().reach(SaveLevel::kStaged);
  EXPECT_TRUE(second.wait(SaveLevel::kStaged, 0s));
}

// The run is at its end without the request, and no manifest says that it was ended before its time.
TEST(ProgramRequests, AtTheEndOfTheRunNobodyEndsItAnyMore) {
  ProgramRequests requests;
  requests.finish("told");
  static_cast<void>(requests.ask_to_save("the last one"));
  static_cast<void>(requests.end_step(EffectTime::kOneStepLater));
  requests.finish("made");
  EXPECT_EQ(requests.end_run(), control::kSave | control::kPinCheckpoint);
  EXPECT_EQ(requests.due().finish, "");
  EXPECT_EQ(requests.due().keep, "the last one");
}

// All ranks knew that the step is the last one, as where a framework ends the training.
TEST(ProgramRequests, ARankThatHadAskedForTheEndKnowsWhyTheRunEndsHere) {
  ProgramRequests requests;
  requests.finish("the last epoch");
  static_cast<void>(requests.end_step(EffectTime::kOneStepLater));
  EXPECT_EQ(requests.end_run(control::kFinish), 0u);
  EXPECT_EQ(requests.due().finish, "the last epoch");
  EXPECT_TRUE(requests.pending().is_empty());
}

// This also holds for a request of the step before, which a resume at the end restores.
TEST(ProgramRequests, WhatComesAfterTheLastSaveIsLate) {
  ProgramRequests requests;
  static_cast<void>(requests.ask_to_save("in the last step"));
  static_cast<void>(requests.end_step(EffectTime::kOneStepLater));
  requests.end_run();
  ASSERT_TRUE(requests.take_ticket());
  EXPECT_EQ(requests.take_late_requests().keep, "") << "it was saved with that";
  const SaveTicket ticket = requests.ask_to_save("behind the loop");
  auto late = requests.take_late_requests();
  EXPECT_EQ(late.keep, "behind the loop");
  ASSERT_TRUE(late.ticket);
  late.ticket->reach(SaveLevel::kCommitted);
  EXPECT_TRUE(ticket.wait(SaveLevel::kCommitted, 0s));

  ProgramRequests resumed;
  resumed.resume({.save = true, .keep = "before the loss"});
  EXPECT_EQ(resumed.take_late_requests().keep, "before the loss");
}

TEST(ProgramRequests, AnAttemptThatEndsFailsItsTickets) {
  SaveTicket made;
  SaveTicket told;
  {
    ProgramRequests requests;
    told = requests.ask_to_save("");
    static_cast<void>(requests.end_step(EffectTime::kOneStepLater));
    made = requests.ask_to_save("");
  }
  for (const SaveTicket& ticket : {made, told})
    EXPECT_EQ(ticket.wait(SaveLevel::kStaged, 0s).error().kind(), ErrorKind::kCancelled);
}

checkpoint::CheckpointId id_of(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}

TEST(ProgramRequests, AStepToUnpinIsInEachLaterRecordWithTheFirstOne) {
  ProgramRequests requests;
  EXPECT_TRUE(requests.unpin(10));
  EXPECT_TRUE(requests.unpin(10));
  const checkpoint::UnpinnedStep ten{.step = 10, .since = id_of(1, 20)};
  EXPECT_EQ(requests.record_unpin_requests(id_of(1, 20)), (std::vector{ten}));
  EXPECT_TRUE(requests.unpin(15));
  const checkpoint::UnpinnedStep fifteen{.step = 15, .since = id_of(1, 30)};
  EXPECT_EQ(requests.record_unpin_requests(id_of(1, 30)), (std::vector{ten, fifteen}));
  EXPECT_EQ(requests.record_unpin_requests(id_of(1, 40)), (std::vector{ten, fifteen}));
  EXPECT_TRUE(requests.unpin(10)) << "it was pinned again";
  EXPECT_EQ(requests.record_unpin_requests(id_of(1, 50)),
            (std::vector{fifteen, {.step = 10, .since = id_of(1, 50)}}));
  EXPECT_FALSE(requests.needs_agreement());
  EXPECT_TRUE(requests.unpin(20));
  EXPECT_EQ(requests.take_unsaved_unpin_steps(), std::vector<std::uint64_t>{20});
}

TEST(ProgramRequests, LaterRecordsRepeatWhatTheResumedCheckpointRequests) {
  ProgramRequests requests;
  requests.resume_unpin_requests({{.step = 10, .since = id_of(1, 20)}, {.step = 5, .since = id_of(1, 10)}});
  EXPECT_EQ(requests.record_unpin_requests(id_of(2, 30)),
            (std::vector<checkpoint::UnpinnedStep>{{.step = 5, .since = id_of(1, 10)},
                                                   {.step = 10, .since = id_of(1, 20)}}));
}

TEST(ProgramRequests, TheStepsToUnpinAreBounded) {
  ProgramRequests requests;
  for (std::uint64_t step = 0; step < checkpoint::kUnpinnedOfRankMax; ++step)
    EXPECT_TRUE(requests.unpin(step));
  EXPECT_FALSE(requests.unpin(1000));
  EXPECT_TRUE(requests.unpin(0)) << "it is one of them";
  EXPECT_EQ(requests.record_unpin_requests(id_of(1, 10)).size(), checkpoint::kUnpinnedOfRankMax);
  EXPECT_TRUE(requests.unpin(1000));
  const auto& left = requests.record_unpin_requests(id_of(1, 20));
  EXPECT_EQ(left.size(), checkpoint::kUnpinnedOfRankMax);
  EXPECT_EQ(left.back().step, 1000u);
  EXPECT_EQ(left.front().step, 1u) << "the oldest one is forgotten";
}

}  // namespace
}  // namespace ratoon::session::program_requests_test
