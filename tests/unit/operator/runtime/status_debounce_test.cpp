#include "operator/runtime/jobs/status_debounce.h"

#include <gtest/gtest.h>

namespace ratoon::runtime::status_debounce_test {
namespace {

class StatusDebounceTest : public testing::Test {
 protected:
  StatusDebounceTest() {
    group_.roles = {{.name = "worker", .has_agent = false}};
    with_agent_.roles = {{.name = "worker"}};
    stored_.members = {{.role = "worker", .index = 0}, {.role = "worker", .index = 1}};
    stored_.conditions = {{.type = "Running", .message = "0 of 2 members run"}};
    made_ = stored_;
    for (auto& member : made_.members) member.uid = "uid-" + std::to_string(member.index);
    made_.members[1].node = "n1";
    made_.replicas = 2;
    made_.message = "1 of 2 members run";
    made_.conditions[0].message = made_.message;
  }

  static bool waits(const StatusDebounce& patience) {
    return patience.after_last_write > Duration::zero() || patience.after_first_change > Duration::zero();
  }

  api::TrainingJobSpec group_;
  api::TrainingJobSpec with_agent_;
  api::TrainingJobStatus stored_;
  api::TrainingJobStatus made_;  // its pods were seen
};

TEST_F(StatusDebounceTest, NothingNewIsNeverWritten) {
  EXPECT_FALSE(status_debounce_for(group_, stored_, stored_).has_change);
  EXPECT_TRUE(status_debounce_for(group_, stored_, made_).has_change);
}

TEST_F(StatusDebounceTest, AStepAloneWaitsForItsTurn) {
  auto stepped = stored_;
  stepped.step = Step{7};
  EXPECT_GT(status_debounce_for(with_agent_, stored_, stepped).after_last_write, Duration::zero());
  stepped.restarts.disruption = 1;
  EXPECT_FALSE(waits(status_debounce_for(with_agent_, stored_, stepped)));
}

TEST_F(StatusDebounceTest, WhatIsToComeAndTheLossWaitLikeAStep) {
  auto told = stored_;
  told.outlook = {.position = 7, .total = 100, .unit = "step", .loss = 0.5};
  EXPECT_GT(status_debounce_for(with_agent_, stored_, told).after_last_write, Duration::zero());
  auto learned = told;
  learned.outlook.loss = 0.25;
  EXPECT_TRUE(status_debounce_for(with_agent_, told, learned).has_change);
  EXPECT_EQ(status_debounce_for(with_agent_, told, learned).after_last_write,
            status_debounce_for(with_agent_, stored_, told).after_last_write)
      << "the loss alone is no more urgent than a step";
  learned.step = Step{8};
  EXPECT_GT(status_debounce_for(with_agent_, told, learned).after_last_write, Duration::zero());
}

TEST_F(StatusDebounceTest, CommitsInARowAreToldASecondAfterTheLastWriteAndOneTakenBackAtOnce) {
  auto first = stored_;
  first.last_checkpoint = ResumePoint{.attempt = Attempt{1}, .step = Step{10}};
  EXPECT_FALSE(waits(status_debounce_for(with_agent_, stored_, first))) << "the first one is looked for";
  auto second = first;
  second.last_checkpoint->step = second.step = Step{11};
  const StatusDebounce patience = status_debounce_for(with_agent_, first, second);
  EXPECT_EQ(patience.after_last_write, std::chrono::seconds(1));
  EXPECT_FALSE(waits(status_debounce_for(with_agent_, second, first)));
  auto shared = first;
  shared.last_checkpoint_tier = "store";
  EXPECT_EQ(status_debounce_for(with_agent_, first, shared).after_last_write, std::chrono::seconds(1));
  second.restarts.disruption = 1;
  EXPECT_FALSE(waits(status_debounce_for(with_agent_, first, second)))
      << "a loss tells of the commit before it";
}

TEST_F(StatusDebounceTest, NewsAreDueWhenBothPausesAreOver) {
  const auto at = [](int seconds) { return Timestamp{std::chrono::seconds(seconds)}; };
  EXPECT_EQ(status_write_time({}, at(9), at(7)), at(9)) << "already";
  EXPECT_EQ(status_write_time({.after_last_write = std::chrono::seconds(5)}, at(9), at(10)), at(14));
  EXPECT_EQ(status_write_time({.after_last_write = std::chrono::seconds(5)}, at(2), at(10)), at(10));
  EXPECT_EQ(status_write_time({.after_first_change = std::chrono::seconds(5)}, at(9), at(10)), at(15));
}

TEST_F(StatusDebounceTest, WhoThePodsOfAGroupAreIsToldTogetherWithItsStart) {
  EXPECT_GT(status_debounce_for(group_, stored_, made_).after_first_change, Duration::zero());
  EXPECT_FALSE(waits(status_debounce_for(with_agent_, stored_, made_))) << "its members may not speak before";
}

// Facts that are not stored yet are not news at every decision.
TEST_F(StatusDebounceTest, ASeenRosterIsRememberedWithThePlacesThatCameAfterIt) {
  auto members = stored_.members;
  restore_pod_placement(made_.members, members);
  EXPECT_EQ(members, made_.members);
  auto placed = made_.members;
  placed[0].node = "n2";
  restore_pod_placement(placed, members);
  EXPECT_EQ(members, placed) << "who the pods are was stored already, and where the first one is was not";
  placed[0].uid = "another";
  placed[0].node = placed[1].node = "n3";
  const auto before = members;
  restore_pod_placement(placed, members);
  EXPECT_EQ(members, before) << "what is stored stands";
}

TEST_F(StatusDebounceTest, ThatTheFirstPodsOfAGroupGotNodesIsToldTogetherWithItsStart) {
  stored_.conditions.clear();
  made_.conditions = {{.type = "Scheduled", .is_true = true, .reason = "Placed"}};
  EXPECT_TRUE(waits(status_debounce_for(group_, stored_, made_)));
  made_.conditions = {{.type = "Scheduled", .is_true = false, .reason = "Unschedulable"}};
  EXPECT_FALSE(waits(status_debounce_for(group_, stored_, made_))) << "somebody may have to make room";
}

TEST_F(StatusDebounceTest, WhatAnybodyWaitsForIsWrittenAtOnce) {
  const auto is_prompt = [&](auto change) {
    auto news = made_;
    change(news);
    return !waits(status_debounce_for(group_, stored_, news));
  };
  EXPECT_TRUE(is_prompt([](auto& s) { s.is_world_formed = true; }));
  EXPECT_TRUE(is_prompt([](auto& s) { s.phase = api::JobPhase::kRunning; }));
  EXPECT_TRUE(is_prompt([](auto& s) { s.attempt = Attempt{1}; }));
  EXPECT_TRUE(is_prompt([](auto& s) { s.members[0].incarnation = 1; }));
  EXPECT_TRUE(is_prompt([](auto& s) { s.members[0].is_completed = true; }));
  EXPECT_TRUE(is_prompt([](auto& s) { s.members.pop_back(); }));
  EXPECT_TRUE(is_prompt([](auto& s) { s.restarts.disruption = 1; }));
  EXPECT_TRUE(is_prompt([](auto& s) { s.conditions[0].is_true = true; }));
  EXPECT_TRUE(is_prompt([](auto& s) { s.conditions.push_back({.type = "Unplaced"}); }));
  auto standing = stored_;
  standing.is_world_formed = true;
  auto lost = standing;
  lost.members[0].uid.clear();
  EXPECT_FALSE(waits(status_debounce_for(group_, standing, lost))) << "a world that stands";
}

}  // namespace
}  // namespace ratoon::runtime::status_debounce_test
