// Saves that a program asks for, of several ranks.
#include <filesystem>

#include <gmock/gmock.h>

#include "agent/src/session/control_word.h"
#include "tests/unit/agent/session/engine_rank.h"

namespace ratoon::engine_asks_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class EngineAsksTest : public test::RanksTest {};

// Rank 0 commits, and pins for whoever asked.
TEST_F(EngineAsksTest, ManyKeepWhatOneOfThemAsksFor) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&first, &second}) rank->begin(100);
  const SaveTicket ticket = second.engine().ask_to_save("the lowest loss");
  const std::uint32_t agreed = first.engine().wishes() | second.engine().wishes();
  EXPECT_EQ(agreed, session::control::kSave | session::control::kKeep);
  second.step(agreed);
  first.step(agreed);
  EXPECT_THAT(first.committed(), ElementsAre(1));
  EXPECT_EQ(second.engine().wishes(), 0u);
  second.step();
  EXPECT_TRUE(ticket.wait(SaveLevel::kCommitted, 0s));
  EXPECT_EQ(test::read_text(folder_ / "pins" / "s0000000001.a0007.json"), "another rank says so\n");
}

// The control word of a step is made before its end.
TEST_F(EngineAsksTest, WhatIsToBeKeptAndIsAskedForTooLateIsTheNextStep) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&first, &second}) rank->begin(100);
  const SaveTicket ticket = first.engine().ask_to_save("the lowest loss");
  second.step(session::control::kSave);
  first.step(session::control::kSave);
  EXPECT_THAT(first.committed(), ElementsAre(1));
  EXPECT_EQ(ticket.wait(SaveLevel::kStaged, 0s).error().kind(), ErrorKind::kTimeout);
  const std::uint32_t agreed = first.engine().wishes();
  second.step(agreed);
  first.step(agreed);
  EXPECT_TRUE(ticket.wait(SaveLevel::kCommitted, 0s));
  EXPECT_THAT(first.committed(), ElementsAre(2, 1));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "pins" / "s0000000001.a0007.json"));
  EXPECT_EQ(test::read_text(folder_ / "pins" / "s0000000002.a0007.json"), "the lowest loss\n");
}

TEST_F(EngineAsksTest, ManyThatAskForASaveAgreeOnIt) {
  auto silent = rank(0, 2);
  silent.begin(100);
  static_cast<void>(silent.engine().ask_to_save(""));
  EXPECT_THROW(silent.step(), Failure) << "the other rank would not save";
}

}  // namespace
}  // namespace ratoon::engine_asks_test
