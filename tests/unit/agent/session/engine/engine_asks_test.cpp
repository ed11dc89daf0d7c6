// Requests of a program, with several ranks: a save, a save that is kept, the end.
#include <filesystem>

#include <gmock/gmock.h>

#include "agent/src/session/engine/control_word.h"
#include "tests/support/engine_rank.h"

namespace ratoon::engine_asks_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EngineAsksTest : public test::RanksTest {
 protected:
  // The exchange of a collective in each step. Rank 0 ends the step last: it commits the packs of all ranks.
  static void step_together(test::TestRank& first, test::TestRank& second) {
    const std::uint32_t agreed = first.engine().requests() | second.engine().requests();
    for (auto* rank : {&second, &first}) {
      rank->engine().agree(agreed);
      rank->step();
    }
  }
  std::string pin(const std::string& name) const { return test::read_text(folder_ / "pins" / name); }
  checkpoint::Manifest manifest(const std::string& name) const {
    return checkpoint::decode_manifest(test::read_text(folder_ / "manifests" / name)).value();
  }
  // The checkpoint that was committed last, for an attempt of another size.
  test::TestRank resumed(std::uint32_t rank, std::uint32_t world_size) const {
    const auto newest =
        checkpoint::RunStore::open(folder_.path()).value().inventory().value().complete.front();
    return test::TestRank(folder_.path(), rank, world_size,
                          ResumePoint{newest.attempt, newest.step, newest.digest}, newest.attempt.next());
  }
};

// Rank 0 commits, and pins for the rank that requested it.
TEST_F(EngineAsksTest, ManyKeepWhatOneOfThemAsksFor) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&first, &second}) rank->begin(100);
  const SaveTicket ticket = second.engine().ask_to_save("the lowest loss");
  EXPECT_EQ(second.engine().requests(), 0u) << "that is the word of the next step";
  step_together(first, second);
  EXPECT_THAT(first.committed(), IsEmpty());
  EXPECT_EQ(second.engine().requests(), session::control::kSave | session::control::kPinCheckpoint);
  step_together(first, second);
  EXPECT_THAT(first.committed(), ElementsAre(2));
  EXPECT_EQ(second.engine().requests(), 0u);
  step_together(first, second);
  EXPECT_TRUE(ticket.wait(SaveLevel::kCommitted, 0s));
  EXPECT_THAT(first.committed(), ElementsAre(2)) << "once";
  EXPECT_EQ(pin("s0000000002.a0007.json"), "the lowest loss\n");
}

// The number is that of members that give notice: one is gone, and another one gives notice.
TEST_F(EngineAsksTest, ARequestAfterAnEarlierOneWasWithdrawnIsServedToo) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.link.wants.save_request = 1;
  alone.steps(2);
  alone.link.wants.save_request = 0;
  alone.steps(2);
  alone.link.wants.save_request = 1;
  alone.step();
  EXPECT_THAT(alone.committed(), ElementsAre(5, 1));
}

// A request before the control word is made, after it, or at the end of an epoch takes effect in the same
// step.
TEST_F(EngineAsksTest, TheMomentWithinTheStepIsOfNoAccount) {
  for (const bool is_late : {false, true}) {
    test::TemporaryFolder folder;
    test::TestRank first(folder.path(), 0, 2);
    test::TestRank second(folder.path(), 1, 2);
    for (auto* rank : {&first, &second}) rank->begin(100);
    if (!is_late) static_cast<void>(first.engine().ask_to_save("the lowest loss"));
    const std::uint32_t agreed = first.engine().requests() | second.engine().requests();
    if (is_late) static_cast<void>(first.engine().ask_to_save("the lowest loss"));
    for (auto* rank : {&second, &first}) {
      rank->engine().agree(agreed);
      rank->step();
    }
    step_together(first, second);
    step_together(first, second);
    EXPECT_THAT(first.committed(), ElementsAre(2)) << is_late;
    EXPECT_EQ(test::read_text(folder / "pins" / "s0000000002.a0007.json"), "the lowest loss\n");
  }
}

TEST_F(EngineAsksTest, ManyThatAskForASaveAgreeOnIt) {
  auto silent = rank(0, 2);
  silent.begin(100);
  static_cast<void>(silent.engine().ask_to_save(""));
  EXPECT_THROW(silent.step(), Failure) << "the other rank would not save";
}

// Rank 0 decides; each rank saves the step.
TEST_F(EngineAsksTest, TheBestCheckpointIsPinnedAndALaterRankZeroKnowsIt) {
  const auto try_value = [](double value, test::TestRank& first, std::vector<test::TestRank*> all) {
    for (auto* rank : all) rank->engine().check_save_best("loss", {});
    const bool is_best = first.engine().note_best("loss", value, {});
    for (auto* rank : all)
      if (is_best) rank->engine().save_this_step();
    return is_best;
  };
  {
    auto first = rank(0, 2);
    auto second = rank(1, 2);
    EXPECT_THROW(first.engine().check_save_best("loss", {}), Failure) << "before the loop";
    for (auto* rank : {&first, &second}) rank->begin(100);
    for (const double value : {0.5, 0.75, 0.25}) {
      EXPECT_EQ(try_value(value, first, {&first, &second}), value != 0.75);
      step_together(first, second);
    }
    EXPECT_THAT(first.committed(), ElementsAre(3, 1));
    EXPECT_EQ(pin("s0000000003.a0007.json"), "best loss: 0.25 (save_best)\n");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "pins" / "s0000000001.a0007.json"));
  }
  auto alone = resumed(0, 1);
  alone.begin(100);
  EXPECT_FALSE(try_value(0.25, alone, {&alone}));
  alone.step();
  EXPECT_TRUE(try_value(0.125, alone, {&alone}));
  static_cast<void>(alone.engine().ask_to_save("a person likes it"));
  alone.step();
  EXPECT_EQ(pin("s0000000005.a0008.json"), "a person likes it\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "pins" / "s0000000003.a0007.json"));
  EXPECT_EQ(manifest("s0000000005.a0008.json").run->best.at(0).kept.at(0).value, 0.125);
}

TEST_F(EngineAsksTest, AWordThatLeavesAWishOutIsAMistakeOfTheProgram) {
  auto first = rank(0, 2);
  first.begin(100);
  static_cast<void>(first.engine().ask_to_save(""));
  first.engine().agree(0);
  first.step();
  first.engine().agree(0);
  try {
    first.step();
    FAIL() << "it goes on";
  } catch (const Failure& why) {
    EXPECT_THAT(why.what(), HasSubstr("agree() was called without the requests of this rank"));
    EXPECT_EQ(why.exit_code, 82);
  }
}

// Rank 1 finishes in step 10, which is saved; rank 1 is lost before step 11 ends.
TEST_F(EngineAsksTest, TheEndThatOneRankAskedForOutlivesThatRank) {
  {
    auto first = rank(0, 2);
    auto second = rank(1, 2);
    for (auto* rank : {&first, &second}) rank->begin(100);
    for (int i = 0; i < 9; ++i) step_together(first, second);
    second.engine().finish_early("the loss no longer falls");
    step_together(first, second);
    step_together(first, second);
    EXPECT_TRUE(first.engine().is_done()) << "the step after is the last one";
    EXPECT_EQ(first.engine().step(), Step(11));
    EXPECT_EQ(manifest("s0000000011.a0007.json").run->early_end->reason, "the loss no longer falls");
  }
  std::filesystem::remove(folder_ / "manifests" / "s0000000011.a0007.json");  // as if it had not come to it
  const auto pending = manifest("s0000000010.a0007.json").run->requests;
  EXPECT_EQ(pending, (checkpoint::PendingRequests{.finish = "the loss no longer falls"}));
  for (const std::uint32_t size : {1u, 2u}) {
    std::vector<std::unique_ptr<test::TestRank>> ranks;
    const auto newest =
        checkpoint::RunStore::open(folder_.path()).value().inventory().value().complete.front();
    ASSERT_EQ(newest.step, Step(10));
    for (std::uint32_t number = 0; number < size; ++number) {
      ranks.push_back(std::make_unique<test::TestRank>(
          folder_.path(), number, size, ResumePoint{newest.attempt, newest.step, newest.digest},
          Attempt(8 + size)));
      ranks.back()->begin(100);
    }
    for (auto at = ranks.rbegin(); at != ranks.rend(); ++at) {
      (*at)->engine().agree(0);  // nobody has to be asked again
      (*at)->step();
      EXPECT_TRUE((*at)->engine().is_done()) << size;
    }
    const std::string name = "s0000000011.a00" + std::string(size == 1 ? "09" : "10") + ".json";
    EXPECT_EQ(manifest(name).run->early_end->reason, "the loss no longer falls");
    ranks.clear();
    std::filesystem::remove(folder_ / "manifests" / name);
  }
}

TEST_F(EngineAsksTest, AHandOverPassesOnWhatIsPending) {
  {
    auto first = rank(0, 2);
    auto second = rank(1, 2);
    for (auto* rank : {&first, &second}) {
      rank->begin(100);
      rank->link.look_takes = 30s;  // the first to leave waits for nobody
    }
    static_cast<void>(second.engine().ask_to_save("the lowest loss"));
    for (auto* rank : {&second, &first}) EXPECT_THROW(rank->step(session::control::kLeave), Interrupted);
    EXPECT_THAT(first.committed(), ElementsAre(1));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "pins"));
  }
  auto alone = resumed(0, 1);
  alone.begin(100);
  alone.step();
  EXPECT_THAT(alone.committed(), ElementsAre(2, 1));
  EXPECT_EQ(pin("s0000000002.a0008.json"), "the lowest loss\n");
  alone.steps(2);
  EXPECT_THAT(alone.committed(), ElementsAre(2, 1)) << "once";
}

// There is no next step: requests in the last step belong to it.
TEST_F(EngineAsksTest, WhatIsAskedForInTheLastStepIsOfThatStep) {
  for (const std::uint32_t asks : {0u, 1u}) {
    test::TemporaryFolder folder;
    test::TestRank first(folder.path(), 0, 2);
    test::TestRank second(folder.path(), 1, 2);
    for (auto* rank : {&first, &second}) rank->begin(3);
    for (int i = 0; i < 2; ++i) step_together(first, second);
    auto& asking = asks == 0 ? first : second;
    const SaveTicket ticket = asking.engine().ask_to_save("the lowest loss");
    step_together(first, second);
    EXPECT_TRUE(first.engine().is_done());
    EXPECT_EQ(test::read_text(folder / "pins" / "s0000000003.a0007.json"), "the lowest loss\n") << asks;
    const auto text = test::read_text(folder / "manifests" / "s0000000003.a0007.json");
    EXPECT_TRUE(checkpoint::decode_manifest(text)->run->requests.is_empty());
    first.engine().finish();
    if (asks == 1) second.engine().finish();
    EXPECT_TRUE(ticket.wait(SaveLevel::kCommitted, 0s)) << asks;
  }
}

// Two requested saves are one save.
TEST_F(EngineAsksTest, TheLastStepHasTheSaveOfTheStepBeforeToo) {
  auto alone = rank(0, 1);
  alone.begin(3);
  std::vector<SaveTicket> tickets;
  for (int step = 1; step <= 3; ++step) {
    if (step > 1) tickets.push_back(alone.engine().ask_to_save(step == 2 ? "first" : "second"));
    alone.engine().agree(alone.engine().requests());
    alone.step();
  }
  alone.engine().finish();
  for (const SaveTicket& ticket : tickets) EXPECT_TRUE(ticket.wait(SaveLevel::kCommitted, 0s));
  EXPECT_EQ(pin("s0000000003.a0007.json"), "first\n");
}

// As a patience rule that is still met in the next step.
TEST_F(EngineAsksTest, AnEndThatIsAskedForTwiceIsOneEnd) {
  {
    auto first = rank(0, 2);
    auto second = rank(1, 2);
    for (auto* rank : {&first, &second}) rank->begin(100);
    while (!first.engine().is_done()) {
      if (first.engine().step() >= Step(15))
        for (auto* rank : {&first, &second}) rank->engine().finish_early("the loss no longer falls");
      step_together(first, second);
    }
    EXPECT_EQ(first.engine().step(), Step(17));
    EXPECT_TRUE(manifest("s0000000017.a0007.json").run->requests.is_empty());
  }
  auto longer = resumed(0, 1);
  longer.begin(200);
  EXPECT_FALSE(longer.engine().is_done()) << "it has another end";
  longer.engine().agree(0);
  longer.step();
  EXPECT_FALSE(longer.engine().is_done());
}

// A checkpoint of an earlier version, whose last manifest has the second request.
TEST_F(EngineAsksTest, AnotherEndOutweighsEveryWishForTheOldOne) {
  {
    auto alone = rank(0, 1);
    alone.begin(100);
    alone.steps(2);
    alone.engine().finish_early("enough");
    alone.step();
  }
  const auto path = folder_ / "manifests" / "s0000000003.a0007.json";
  auto old = checkpoint::decode_manifest(test::read_text(path)).value();
  ASSERT_TRUE(old.run->early_end);
  old.run->requests.finish = "enough";
  test::write_text(path, checkpoint::encode_manifest(old));
  auto longer = resumed(0, 1);
  longer.begin(200);
  longer.step();
  EXPECT_FALSE(longer.engine().is_done());
}

// One rank that agrees once a step is a world that another one may continue, of any size.
TEST_F(EngineAsksTest, OneRankThatAgreesDecidesAsManyDo) {
  auto alone = rank(0, 1);
  alone.begin(100);
  const SaveTicket ticket = alone.engine().ask_to_save("the lowest loss");
  for (int step = 1; step <= 3; ++step) {
    alone.engine().agree(alone.engine().requests());
    alone.step();
    if (step == 1) {
      EXPECT_THAT(alone.committed(), IsEmpty());
    }
  }
  EXPECT_THAT(alone.committed(), ElementsAre(2));
  EXPECT_TRUE(ticket.wait(SaveLevel::kCommitted, 0s));
}

// The control words of such steps are the same as in a program without requests: empty.
TEST_F(EngineAsksTest, StepsWithoutWishesAddNothingToTheWordOrTheReceipts) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&first, &second}) rank->begin(100);
  for (int step = 0; step < 10; ++step) {
    EXPECT_EQ(first.engine().requests() | second.engine().requests(), 0u);
    step_together(first, second);
  }
  EXPECT_THAT(first.committed(), ElementsAre(10));
  const auto receipts = folder_ / "receipts" / "a0007" / "s0000000010";
  EXPECT_THAT(test::read_text(receipts / "r0000.json"),
              testing::AllOf(HasSubstr("\"run\""), testing::Not(HasSubstr("wishes"))));
  EXPECT_THAT(test::read_text(receipts / "r0001.json"),
              testing::AllOf(HasSubstr("\"pack\""), testing::Not(HasSubstr("\"run\""))));
}

}  // namespace
}  // namespace ratoon::engine_asks_test
