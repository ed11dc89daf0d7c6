#include "tests/property/operator/laws.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/core/notice.h"
#include "operator/core/reconcile.h"
#include "tests/support/builders.h"

namespace ratoon::sim {
namespace {

using core::Decision;
using core::Observation;

SeatList keys_of(const std::vector<api::Seat>& world) {
  SeatList keys;
  for (const auto& seat : world) {
    const auto& a = seat.assignment;
    keys.emplace_back(seat.process.start, a.rank.value(), a.rendezvous,
                      a.resume ? a.resume->digest : "beginning");
  }
  return keys;
}

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

// Worlds that were given up though no member of them was to blame.
std::size_t worlds_hung_in(const Decision& decision) {
  return static_cast<std::size_t>(
      std::count_if(decision.actions.begin(), decision.actions.end(), [](const auto& action) {
        const auto* event = std::get_if<core::EmitEvent>(&action);
        return event != nullptr && event->reason == "WorldHung";
      }));
}

std::uint32_t ends_counted(const api::TrainingJobStatus& status) {
  return status.restarts.application + status.restarts.hung + status.restarts.disruption;
}

}  // namespace

std::string name_of(const api::MemberStatus& member) {
  return member_name(test::job_key(), member.role, member.index, member.incarnation);
}

std::set<std::string> lost_in(const Decision& decision) {
  std::set<std::string> names;
  for (const auto& action : decision.actions) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    if (event != nullptr && event->reason == "MemberLost")
      names.insert(event->message.substr(0, event->message.find(": ")));
  }
  return names;
}

bool is_final(const api::TrainingJobStatus& status) {
  return status.phase == api::JobPhase::kSucceeded || status.phase == api::JobPhase::kFailed;
}

Decision Laws::decide() {
  const Observation seen = world_.observe();
  const Decision decision = core::reconcile(seen, world_.now());
  check_repetition(seen, decision);
  check_status(seen.job.status, decision.status);
  if (is_final(decision.status)) return decision;
  check_counting(seen, decision);
  check_given_up(seen, decision);
  check_hung(seen, decision);
  check_suspended(seen, decision);
  check_placement(seen, decision);
  check_pauses(seen, decision);
  check_departures(seen, decision);
  check_current(decision);
  check_world(seen, decision);
  return decision;
}

void Laws::note_stored(const Decision& decision, const api::TrainingJobStatus& before) {
  if (world_.job().status != decision.status) return;
  for (const auto& name : lost_in(decision))
    EXPECT_TRUE(counted_.insert(name).second) << name << " ended twice";
  if (before.last_disruption != decision.status.last_disruption) check_account(decision);
  if (decision.announcement.world.empty()) return;
  const auto [known, is_new] =
      worlds_.emplace(decision.announcement.attempt, keys_of(decision.announcement.world));
  EXPECT_EQ(known->second, keys_of(decision.announcement.world)) << "two worlds with one attempt";
  if (!is_new) return;
  const std::size_t size = decision.announcement.world.size();
  const auto& members = decision.status.members;
  if (std::any_of(members.begin(), members.end(), [](const auto& m) { return m.is_absent; }))
    ++tally_.smaller_worlds;
  if (size_ != 0 && size > size_) ++tally_.growths;
  size_ = size;
}

void Laws::check_agents() const {
  EXPECT_EQ(world_.broken_seat(), "");
  if (world_.scenario().has_losses) return;
  EXPECT_EQ(world_.job().status.restarts.disruption, 0U) << "nothing was lost";
  EXPECT_EQ(world_.repeated_steps(), 0U) << "notice costs no step";
}

void Laws::check_repetition(const Observation& seen, Decision decision) {
  EXPECT_TRUE(is_same(decision, core::reconcile(seen, world_.now()))) << "not deterministic";
  if (!world_.dice().percent(30)) return;
  Observation after = world_.observe_after(seen, decision);
  // One that wants to decide again at once may have more to say, but not for ever.
  for (int again = 0; again < 3 && decision.wake_at && *decision.wake_at <= world_.now(); ++again) {
    decision = core::reconcile(after, world_.now());
    after = world_.observe_after(after, decision);
  }
  const Decision second = core::reconcile(after, world_.now());
  EXPECT_TRUE(second.actions.empty())
      << "carried out, and yet there is something to do: " << api::encode_status(decision.status)
      << api::encode_status(second.status);
  api::TrainingJobStatus expected = decision.status;  // the UIDs of pods that were just made are news
  if (!is_final(expected)) {
    expected.replicas = second.status.replicas;  // with them
    for (std::size_t i = 0; i < expected.members.size() && i < second.status.members.size(); ++i) {
      auto& member = expected.members[i];
      if (member.uid.empty()) member.uid = second.status.members[i].uid;
      if (member.successor_uid.empty()) member.successor_uid = second.status.members[i].successor_uid;
    }
  }
  EXPECT_EQ(api::encode_status(second.status), api::encode_status(expected))
      << "carried out, and yet it changes";
  EXPECT_EQ(keys_of(second.announcement.world), keys_of(decision.announcement.world));
  EXPECT_EQ(second.announcement.hand_over, decision.announcement.hand_over);
}

void Laws::check_status(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) const {
  EXPECT_GE(after.attempt, before.attempt);
  EXPECT_LE(after.attempt.value(), std::max(before.attempt.value(), world_.scenario().former_attempt) + 1)
      << "one attempt a world";
  EXPECT_GE(after.restarts.application, before.restarts.application);
  EXPECT_GE(after.restarts.hung, before.restarts.hung);
  EXPECT_GE(after.restarts.disruption, before.restarts.disruption);
  if (is_final(before)) {
    EXPECT_EQ(after, before) << "the end is the end";
    return;
  }
  for (std::size_t i = 0; i < before.members.size(); ++i) {
    if (!before.members[i].is_completed) continue;
    EXPECT_TRUE(after.members[i].is_completed) << "completion was forgotten";
    EXPECT_EQ(after.members[i].incarnation, before.members[i].incarnation) << "who is done is not replaced";
  }
  if (after.phase == api::JobPhase::kFailed) return check_failure(after);
  check_checkpoints(before, after);
}

void Laws::check_failure(const api::TrainingJobStatus& status) const {
  if (status.message.starts_with("maxDurationSeconds")) {
    const auto limit = world_.scenario().max_duration_seconds;
    EXPECT_TRUE(limit > 0 && seconds(world_.now().since_boot) >= 1000.0 + limit) << "its time was not over";
    return;
  }
  const auto& restarts = status.restarts;
  EXPECT_TRUE(world_.has_had_fatal_exit() ||
              restarts.application + restarts.hung > world_.scenario().restarts_max ||
              restarts.without_step > 10 * status.members.size())
      << "failed for no reason: " << status.message;
}

void Laws::check_checkpoints(const api::TrainingJobStatus& before,
                             const api::TrainingJobStatus& after) const {
  const auto checkpoint_of = [](const api::TrainingJobStatus& s) {
    return s.last_checkpoint ? Lineage{s.last_checkpoint->attempt, s.last_checkpoint->step} : Lineage{};
  };
  const auto& all = world_.checkpoints();
  EXPECT_GE(checkpoint_of(after), checkpoint_of(before));
  EXPECT_TRUE(!after.last_checkpoint || all.contains(checkpoint_of(after)));
  if (after.phase == api::JobPhase::kSucceeded) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& c) {
      return c.first.second.value() == world_.scenario().total_steps;
    })) << "succeeded without the last checkpoint";
  }
}

// No pod is made for a job that is to be suspended, and none is left of one that is.
void Laws::check_suspended(const Observation& seen, const Decision& decision) const {
  const bool is_suspended = decision.status.phase == api::JobPhase::kSuspended;
  EXPECT_TRUE(!is_suspended || seen.job.spec.is_suspended);
  std::set<std::string> deleted;
  for (const auto& action : decision.actions) {
    EXPECT_FALSE(seen.job.spec.is_suspended && std::holds_alternative<core::CreatePod>(action));
    if (const auto* gone = std::get_if<core::DeletePod>(&action)) deleted.insert(gone->uid);
  }
  for (const auto& pod : seen.pods) {
    const bool lives = !pod.is_deleting && !pod.has_ended();
    EXPECT_TRUE(!is_suspended || !lives || deleted.contains(pod.uid)) << pod.name << " is left";
  }
}

// Whose program failed waits, whoever was lost otherwise does not; and a pause that is over is no pause.
void Laws::check_pauses(const Observation& seen, const Decision& decision) const {
  std::set<std::string> made;
  for (const auto& action : decision.actions)
    if (const auto* create = std::get_if<core::CreatePod>(&action)) made.insert(create->pod.name);
  const bool is_any_crash = decision.status.restarts.application > seen.job.status.restarts.application;
  for (const auto& member : decision.status.members) {
    if (!member.not_before) continue;
    EXPECT_GT(*member.not_before, seen.wall_now);
    EXPECT_FALSE(made.contains(name_of(member))) << name_of(member) << " was to be made later";
    const auto& before = seen.job.status.members.at(member.index).not_before;
    EXPECT_TRUE(before == member.not_before || is_any_crash) << name_of(member) << " waits for no reason";
    EXPECT_TRUE(decision.wake_at || decision.status.suspending_since) << "nobody would end the pause";
  }
}

// An incarnation that goes was lost and is counted, or its successor waited to take over.
void Laws::check_counting(const Observation& seen, const Decision& decision) const {
  const auto lost = lost_in(decision);
  EXPECT_EQ(ends_counted(decision.status) - ends_counted(seen.job.status),
            lost.size() + worlds_hung_in(decision))
      << "each ended incarnation counts once";
  for (const auto& before : seen.job.status.members) {
    const auto& after = decision.status.members.at(before.index);
    EXPECT_TRUE(after.is_completed || std::max(after.incarnation, after.successor) >=
                                          std::max(before.incarnation, before.successor))
        << "a name is used once";
    if (after.incarnation == before.incarnation) continue;
    EXPECT_FALSE(before.is_completed);
    if (decision.status.phase == api::JobPhase::kSuspended) continue;
    auto handed_over = before;
    handed_over.successor_uid = after.uid;  // it may have been seen just now
    EXPECT_TRUE(lost.contains(name_of(before)) || core::is_successor_ready(seen, handed_over))
        << name_of(before) << " was replaced for no reason";
  }
}

}  // namespace ratoon::sim
