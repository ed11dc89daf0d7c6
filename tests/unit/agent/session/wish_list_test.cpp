#include "agent/src/session/wish_list.h"

#include <gtest/gtest.h>

#include "agent/src/session/control_word.h"

namespace ratoon::session::wish_list_test {
namespace {

using namespace std::chrono_literals;
using checkpoint::PendingWishes;

TEST(WishList, WhatIsWishedForIsToldInTheNextStepAndTakesEffectWithIt) {
  WishList wishes;
  wishes.finish("enough");
  EXPECT_EQ(wishes.bits(), 0u);
  EXPECT_TRUE(wishes.needs_agreement());
  EXPECT_EQ(wishes.end_step(TakesEffect::kOneStepLater), 0u);
  EXPECT_TRUE(wishes.due().is_empty());
  EXPECT_EQ(wishes.pending(), (PendingWishes{.finish = "enough"})) << "in the receipt of that step";
  EXPECT_EQ(wishes.bits(), control::kFinish);
  EXPECT_EQ(wishes.end_step(TakesEffect::kOneStepLater), 0u) << "the word of all has it";
  EXPECT_EQ(wishes.due().finish, "enough");
  EXPECT_TRUE(wishes.pending().is_empty());
  EXPECT_FALSE(wishes.needs_agreement());
}

TEST(WishList, WhereNoRankHasToBeAskedItIsTheVeryStep) {
  WishList wishes;
  const auto ticket = wishes.ask_to_save("the lowest loss");
  EXPECT_EQ(wishes.end_step(TakesEffect::kAtOnce), control::kSave | control::kKeep);
  EXPECT_EQ(wishes.due().keep, "the lowest loss");
  EXPECT_TRUE(wishes.pending().is_empty());
  EXPECT_TRUE(wishes.take_ticket().has_value());
  EXPECT_FALSE(wishes.take_ticket().has_value());
}

TEST(WishList, WhatWasResumedIsKnownToAllAndTakesEffectOnce) {
  for (const auto when : {TakesEffect::kAtOnce, TakesEffect::kOneStepLater}) {
    WishList wishes;
    wishes.resume({.save = true, .keep = "the lowest loss", .finish = "enough"});
    EXPECT_FALSE(wishes.needs_agreement());
    EXPECT_EQ(wishes.bits(), 0u) << "the other ranks have it, too";
    EXPECT_EQ(wishes.end_step(when), control::kSave | control::kKeep | control::kFinish);
    EXPECT_EQ(wishes.due().finish, "enough");
    EXPECT_EQ(wishes.end_step(when), 0u);
  }
}

TEST(WishList, ThoseOfAStepAreOneAndTheFirstReasonStands) {
  WishList wishes;
  static_cast<void>(wishes.ask_to_save(""));
  static_cast<void>(wishes.ask_to_save("first"));
  static_cast<void>(wishes.ask_to_save("second"));
  wishes.finish("first");
  wishes.finish("second");
  static_cast<void>(wishes.end_step(TakesEffect::kOneStepLater));
  EXPECT_EQ(wishes.pending(), (PendingWishes{.save = true, .keep = "first", .finish = "first"}));
}

// A program that agrees in some of its steps only: no ticket is lost over it.
TEST(WishList, EachSaveHasItsTicket) {
  WishList wishes;
  const SaveTicket first = wishes.ask_to_save("");
  static_cast<void>(wishes.end_step(TakesEffect::kOneStepLater));
  const SaveTicket second = wishes.ask_to_save("");
  static_cast<void>(wishes.end_step(TakesEffect::kAtOnce));
  wishes.take_ticket().value().reach(SaveLevel::kStaged);
  EXPECT_TRUE(first.wait(SaveLevel::kStaged, 0s));
  EXPECT_FALSE(second.wait(SaveLevel::kStaged, 0s));
  static_cast<void>(wishes.end_step(TakesEffect::kAtOnce));
  wishes.take_ticket().value().reach(SaveLevel::kStaged);
  EXPECT_TRUE(second.wait(SaveLevel::kStaged, 0s));
}

// The run is at its end without it, and no manifest says that it was ended before its time.
TEST(WishList, AtTheEndOfTheRunNobodyEndsItAnyMore) {
  WishList wishes;
  wishes.finish("told");
  static_cast<void>(wishes.ask_to_save("the last one"));
  static_cast<void>(wishes.end_step(TakesEffect::kOneStepLater));
  wishes.finish("made");
  EXPECT_EQ(wishes.end_run(), control::kSave | control::kKeep);
  EXPECT_EQ(wishes.due().finish, "");
  EXPECT_EQ(wishes.due().keep, "the last one");
}

TEST(WishList, AnAttemptThatEndsFailsItsTickets) {
  SaveTicket made;
  SaveTicket told;
  {
    WishList wishes;
    told = wishes.ask_to_save("");
    static_cast<void>(wishes.end_step(TakesEffect::kOneStepLater));
    made = wishes.ask_to_save("");
  }
  for (const SaveTicket& ticket : {made, told})
    EXPECT_EQ(ticket.wait(SaveLevel::kStaged, 0s).error().kind(), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace ratoon::session::wish_list_test
