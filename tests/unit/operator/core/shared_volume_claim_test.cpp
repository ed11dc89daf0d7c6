#include "operator/core/members/shared_volume_claim.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::shared_volume_claim_test {
namespace {

using test::only;
using test::wall;

Observation begins(std::uint32_t members, std::vector<std::string> modes) {
  Observation seen{.job = test::new_job(members)};
  seen.job.spec.checkpoint_policy.volume_claim_name = "ckpt";
  seen.volume_claim = VolumeClaim{.access_modes = std::move(modes)};
  seen.wall_now = wall(100);
  return seen;
}

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

const api::Condition* invalid(const api::TrainingJobStatus& status) {
  const auto found = std::ranges::find(status.conditions, "InvalidSpec", &api::Condition::type);
  return found == status.conditions.end() ? nullptr : &*found;
}

TEST(SharedVolumeClaim, OfOneNodeIsNoneForSeveralMembers) {
  auto seen = begins(3, {"ReadWriteOnce", "ReadOnlyMany"});
  const auto decision = decide(seen);
  EXPECT_TRUE(only<CreatePod>(decision).empty());
  ASSERT_NE(invalid(decision.status), nullptr);
  EXPECT_TRUE(invalid(decision.status)->is_true);
  EXPECT_EQ(invalid(decision.status)->reason, "ClaimNotShared");
  EXPECT_EQ(invalid(decision.status)->message,
            "up to 3 members are to share the claim ckpt, whose access modes are ReadWriteOnce, "
            "ReadOnlyMany: no pods are made until the claim is replaced by a claim with ReadWriteMany, or "
            "the job by a job that names another "
            "claim or has one member");
  EXPECT_EQ(decision.status.message, invalid(decision.status)->message);
  const auto news = only<EmitEvent>(decision);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_TRUE(news[0].is_warning);
  EXPECT_EQ(news[0].reason, "InvalidSpec");

  seen.job.status = decision.status;
  seen.wall_now = wall(200);
  const auto again = decide(seen);
  EXPECT_EQ(again.status, seen.job.status) << "nothing is written again";
  EXPECT_TRUE(only<EmitEvent>(again).empty());
  EXPECT_TRUE(only<CreatePod>(again).empty());
}

TEST(SharedVolumeClaim, ThatWasReplacedMendsTheJob) {
  auto seen = begins(2, {"ReadWriteOnce"});
  seen.job.status = decide(seen).status;
  seen.volume_claim->access_modes = {"ReadWriteOnce", "ReadWriteMany"};
  seen.wall_now = wall(200);
  const auto decision = decide(seen);
  EXPECT_EQ(only<CreatePod>(decision).size(), 2U);
  EXPECT_FALSE(invalid(decision.status)->is_true);
  EXPECT_EQ(invalid(decision.status)->since, wall(200));
  EXPECT_EQ(invalid(decision.status)->message, "");
}

TEST(SharedVolumeClaim, OneThatDoesNotExistIsTheSchedulersMatter) {
  auto seen = begins(2, {});
  seen.volume_claim.reset();
  EXPECT_EQ(only<CreatePod>(decide(seen)).size(), 2U);
  EXPECT_EQ(invalid(decide(seen).status), nullptr) << "it never held";
}

TEST(SharedVolumeClaim, OneMemberNeedsNoOtherMode) {
  const auto seen = begins(1, {"ReadWriteOnce"});
  EXPECT_FALSE(needs_volume_claim(seen));
  EXPECT_EQ(only<CreatePod>(decide(seen)).size(), 1U);
  auto elastic = seen;
  elastic.job.spec.elastic_policy = api::ElasticPolicy{.members_min = 1, .members_max = 4};
  EXPECT_TRUE(needs_volume_claim(elastic)) << "it may grow";
  EXPECT_TRUE(only<CreatePod>(decide(elastic)).empty());
  auto roles = seen;
  roles.job.spec.roles.push_back({.name = "evaluator", .replicas = 1});
  EXPECT_TRUE(needs_volume_claim(roles));
}

TEST(SharedVolumeClaim, IsNotAskedForWhereNothingIsToBeMade) {
  auto seen = begins(2, {"ReadWriteOnce"});
  EXPECT_TRUE(needs_volume_claim(seen));
  auto other = seen;
  other.job.spec.checkpoint_policy.volume_claim_name.clear();
  EXPECT_FALSE(needs_volume_claim(other));
  other = seen;
  other.job.spec.is_suspended = true;
  EXPECT_FALSE(needs_volume_claim(other));
  other = seen;
  other.job.status.phase = api::JobPhase::kFailed;
  EXPECT_FALSE(needs_volume_claim(other));
}

TEST(SharedVolumeClaim, NoJobThatTrainsIsHeldBackByIt) {
  auto seen = test::running(test::job(2));
  seen.wall_now = wall(100);
  seen.job.spec.checkpoint_policy.volume_claim_name = "ckpt";
  seen.volume_claim = VolumeClaim{.access_modes = {"ReadWriteOnce"}};
  const auto before = decide(seen);
  EXPECT_EQ(before.status.phase, api::JobPhase::kRunning);
  EXPECT_EQ(invalid(before.status), nullptr);

  auto lost = seen;
  lost.job.status.step = Step(7);
  lost.job.status.is_world_formed = false;
  lost.pods.clear();
  EXPECT_FALSE(needs_volume_claim(lost)) << "it has trained on this claim";
}

TEST(SharedVolumeClaim, AGroupThatStoodOnceIsNotHeldBack) {
  auto seen = begins(2, {"ReadWriteOnce"});
  for (auto& role : seen.job.spec.roles) role.has_agent = false;
  seen.job.status.attempt = Attempt(1);
  EXPECT_TRUE(needs_volume_claim(seen));
  seen.job.status.attempt = Attempt(2);
  EXPECT_FALSE(needs_volume_claim(seen)) << "it has no steps that would tell";
}

TEST(SharedVolumeClaim, IsMendedByNobodyWhoSuspendsTheJobOrWaitsForItsEnd) {
  auto seen = begins(2, {"ReadWriteOnce"});
  seen.job.status = decide(seen).status;
  seen.job.spec.is_suspended = true;
  EXPECT_TRUE(invalid(decide(seen).status)->is_true);
  seen.job.spec.is_suspended = false;
  seen.job.spec.max_duration_seconds = 10;
  seen.wall_now = wall(1000);
  const auto ended = decide(seen).status;
  ASSERT_EQ(ended.phase, api::JobPhase::kFailed);
  EXPECT_TRUE(invalid(ended)->is_true);
  EXPECT_EQ(ended.message.find("claim"), std::string::npos) << ended.message;
}

TEST(SharedVolumeClaim, WhatCouldNotBeReadIsMendedOnceSomebodyDecides) {
  auto seen = test::running(test::job(2));
  seen.wall_now = wall(100);
  seen.job.status = decide(seen).status;
  seen.job.status.conditions.push_back(
      {.type = "InvalidSpec", .is_true = true, .reason = "Unreadable", .message = "why", .since = wall(50)});
  auto status = decide(seen).status;
  EXPECT_FALSE(invalid(status)->is_true);
  EXPECT_EQ(invalid(status)->reason, "Mended");
  EXPECT_EQ(invalid(status)->since, wall(100));

  seen.job.status.phase = api::JobPhase::kSucceeded;
  status = decide(seen).status;
  EXPECT_FALSE(invalid(status)->is_true) << "of one that is over, too";
  EXPECT_EQ(status.phase, api::JobPhase::kSucceeded);
}

}  // namespace
}  // namespace ratoon::core::shared_volume_claim_test
