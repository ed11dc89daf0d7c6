// Laws about deciding again: on the same facts, on the result of a decision, and later without an event.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/core/reconcile.h"
#include "tests/property/operator/laws.h"

namespace ratoon::sim {

using core::Decision;
using core::Observation;

namespace {

bool is_same(const Decision& a, const Decision& b) {
  return a.status == b.status && a.actions == b.actions && a.wake_at == b.wake_at &&
         a.recovery == b.recovery && a.announcement.attempt == b.announcement.attempt &&
         a.announcement.current == b.announcement.current &&
         a.announcement.departures == b.announcement.departures &&
         a.announcement.stop == b.announcement.stop &&
         a.announcement.save_request == b.announcement.save_request &&
         a.announcement.hand_over == b.announcement.hand_over &&
         a.announcement.is_hung == b.announcement.is_hung && a.announcement.reason == b.announcement.reason &&
         keys_of(a.announcement.world) == keys_of(b.announcement.world);
}

// Times as the API server stores them. Values that are equal as structs are not converted through JSON.
void expect_same(const api::TrainingJobStatus& a, const api::TrainingJobStatus& b, const char* otherwise) {
  if (a == b) return;
  EXPECT_EQ(api::encode_status(a), api::encode_status(b)) << otherwise;
}

// For a deleted job there is no further report.
bool deletes_job(const Decision& decision) {
  return std::any_of(decision.actions.begin(), decision.actions.end(),
                     [](const auto& action) { return std::holds_alternative<core::DeleteJob>(action); });
}

}  // namespace

void Laws::check_repetition(const Observation& seen, Decision decision) {
  EXPECT_TRUE(is_same(decision, core::reconcile(seen, world_.now()))) << "not deterministic";
  const bool looks = world_.moves().is_told() || world_.moves().percent("looks-again", 30);
  if (!looks || deletes_job(decision)) return;
  Observation after = world_.observe_after(seen, decision);
  // A decision that wants to be repeated at once may have more reports, but not for ever.
  for (int again = 0; again < 3 && decision.wake_at && *decision.wake_at <= world_.now(); ++again) {
    decision = core::reconcile(after, world_.now());
    if (deletes_job(decision)) return;
    after = world_.observe_after(after, decision);
  }
  const Decision second = core::reconcile(after, world_.now());
  EXPECT_TRUE(second.actions.empty())
      << "carried out, and yet there is something to do: " << api::encode_status(decision.status)
      << api::encode_status(second.status);
  api::TrainingJobStatus expected = decision.status;  // the UIDs of pods that were just made are news
  if (!api::is_over(expected.phase)) {
    expected.replicas = second.status.replicas;  // with them
    for (std::size_t i = 0; i < expected.members.size() && i < second.status.members.size(); ++i) {
      auto& member = expected.members[i];
      if (member.uid.empty()) member.uid = second.status.members[i].uid;
      if (member.successor_uid.empty()) member.successor_uid = second.status.members[i].successor_uid;
    }
  }
  expect_same(second.status, expected, "carried out, and yet it changes");
  EXPECT_EQ(keys_of(second.announcement.world), keys_of(decision.announcement.world));
  EXPECT_EQ(second.announcement.hand_over, decision.announcement.hand_over);
  EXPECT_EQ(second.announcement.departures, decision.announcement.departures);
  after.job.status = second.status;
  check_waiting(std::move(after));
}

// Without an event there is no action before the moment that the decision names. A moment that a decision
// forgets would be a moment without a decision.
void Laws::check_waiting(Observation seen) const {
  constexpr Duration kLong = std::chrono::hours(2);
  const Decision now = core::reconcile(seen, world_.now());
  EXPECT_TRUE(!now.wake_at || *now.wake_at > world_.now())
      << "asks for a look again and again, and nothing changes";
  const Timestamp until = std::min(now.wake_at.value_or(world_.now() + kLong), world_.now() + kLong);
  const Duration pause = until - world_.now() - std::chrono::milliseconds(1);
  if (pause <= Duration(0) || !now.actions.empty()) return;
  seen.job.status = now.status;
  seen.recovery = now.recovery;
  seen.checkpoint_lists_valid_from = now.announcement.checkpoint_lists_valid_from;
  seen.wall_now = {seen.wall_now.since_epoch + pause};
  const Decision then = core::reconcile(seen, world_.now() + pause);
  EXPECT_TRUE(then.actions.empty())
      << "was not to wake for another millisecond, and there is something to do";
  expect_same(then.status, now.status,
              "was not to wake for another millisecond, and there is something to write");
}

void Laws::check_quiet(const Decision& decision, const api::TrainingJobStatus& before) {
  EXPECT_TRUE(decision.actions.empty()) << "there is still something to do";
  expect_same(decision.status, before, "there is still something to write");
}

}  // namespace ratoon::sim
