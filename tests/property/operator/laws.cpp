#include "tests/property/operator/laws.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/core/reconcile.h"
#include "operator/core/world/release_nodes.h"
#include "tests/property/operator/recount.h"
#include "tests/support/builders.h"

namespace ratoon::sim {
namespace {

using core::Decision;
using core::Observation;

// The pod waits for a node, and was made to avoid some nodes: it may be made again once one of them is free.
bool waits_away_from_nodes(const Observation& seen, const api::MemberStatus& member) {
  return std::any_of(seen.pods.begin(), seen.pods.end(), [&](const auto& pod) {
    return pod.name == name_of(member) && pod.node.empty() && !pod.avoided_nodes.empty();
  });
}

// The pod's record, which the recount of the cost reads, says that the end is a failure.
// A rule of the job may say that a crash is no failure of the program.
bool failed_in(const Decision& decision, const std::string& name) {
  return std::ranges::any_of(decision.actions, [&](const auto& action) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    return event != nullptr && event->reason == "MemberLost" &&
           event->message.starts_with(name + ": crashed with signal") &&
           event->message.find(" (rules[") == std::string::npos;
  });
}

// Whether that member, or any member if no name is given, ended because nothing can be saved or read.
bool is_loss_told(const Decision& decision, const std::string& words) {
  return std::ranges::any_of(decision.actions, [&](const auto& action) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    return event != nullptr && event->reason == "MemberLost" &&
           event->message.find(words) != std::string::npos;
  });
}

bool lost_its_storage(const Decision& decision, const std::string& name = {}) {
  return is_loss_told(decision, name + ": exit code 84 (storage failed)");
}

bool has_device_fault(const Decision& decision) {
  return is_loss_told(decision, ": exit code 85 (");
}

bool is_any_member_unheard(const Decision& decision) {
  return std::ranges::any_of(decision.actions, [](const core::Action& action) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    return event != nullptr && (event->message.find("no process of its job did") != std::string::npos ||
                                event->message.find("as far as this operator knows") != std::string::npos);
  });
}

std::uint32_t ends_counted(const api::TrainingJobStatus& status) {
  return status.restarts.application + status.restarts.hung + status.restarts.disruption;
}

}  // namespace

SeatList keys_of(const std::vector<api::AssignedProcess>& world) {
  SeatList keys;
  for (const auto& seat : world) {
    const auto& a = seat.assignment;
    keys.emplace_back(seat.process.start, a.rank.value(), a.rendezvous,
                      a.resume ? a.resume->digest : "beginning");
  }
  return keys;
}

std::string name_of(const api::MemberStatus& member) {
  return member_name(test::job_key(), member.role, member.index, member.incarnation);
}

bool is_any_rejected(const Decision& decision) {
  return std::ranges::any_of(decision.actions, [](const auto& action) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    return event != nullptr && event->reason == "MemberLost" &&
           event->message.find("its kubelet did not start it") != std::string::npos;
  });
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

std::uint32_t worlds_hung_in(const Decision& decision) {
  return static_cast<std::uint32_t>(
      std::count_if(decision.actions.begin(), decision.actions.end(), [](const auto& action) {
        const auto* event = std::get_if<core::EmitEvent>(&action);
        return event != nullptr && event->reason == "WorldHung";
      }));
}

const api::MemberStatus* find_member(const api::TrainingJobStatus& status, const api::MemberStatus& member) {
  for (const auto& known : status.members)
    if (known.role == member.role && known.index == member.index) return &known;
  return nullptr;
}

Decision Laws::decide() {
  const Observation seen = world_.observe();
  const Decision decision = core::reconcile(seen, world_.now());
  ++tally_.decisions;
  check_repetition(seen, decision);
  check_status(seen.job.status, decision.status);
  check_ledger(seen, decision.status);
  check_end(seen, decision);
  if (api::is_over(seen.job.status.phase)) return decision;
  check_bill(seen, decision);
  check_success(seen, decision);
  check_deadlines(seen, decision);
  check_duration(seen, decision);
  check_told(seen, decision);
  if (api::is_over(decision.status.phase)) return decision;
  check_released(seen, decision);
  check_counting(seen, decision);
  check_deletions(seen, decision);
  check_rest(seen, decision);
  check_sizes(seen, decision);
  check_given_up(seen, decision);
  check_hung(seen, decision);
  check_suspended(seen, decision);
  check_placement(seen, decision);
  check_starting(seen);
  check_slow_starts(seen, decision);
  check_silent(seen, decision);
  check_unreachable(seen, decision);
  check_finishing(seen, decision);
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
  for (const auto& member : before.members)
    if (find_member(decision.status, member) == nullptr) forget(member);
  note_times(decision.status);
  ends_told_ = ends_found_;
  if (before.last_disruption != decision.status.last_disruption) check_account(decision);
  if (decision.announcement.world.empty()) return;
  const auto [known, is_new] =
      worlds_.emplace(decision.announcement.attempt, keys_of(decision.announcement.world));
  EXPECT_EQ(known->second, keys_of(decision.announcement.world)) << "two worlds with one attempt";
  if (!is_new) return;
  const std::size_t size = decision.announcement.world.size();
  const auto seated = std::ranges::count_if(decision.status.members, [](const auto& member) {
    return member.role == kWorker && !member.is_absent;
  });
  if (std::cmp_less(seated, world_.job().spec.num_nodes)) ++tally_.smaller_worlds;
  if (size_ != 0 && size > size_) ++tally_.growths;
  size_ = size;
}

// The job became smaller; a member that it gets later in the same place begins again.
void Laws::forget(api::MemberStatus member) {
  member.incarnation = std::max(member.incarnation, member.successor) + 1;
  do {
    counted_.erase(name_of(member));
  } while (member.incarnation-- > 0);
}

void Laws::note_times(const api::TrainingJobStatus& status) {
  if (api::is_over(status.phase) && !ended_at_) {
    ended_at_ = world_.wall_now();
    EXPECT_EQ(status.completed_at, ended_at_) << "it ended now";
    if (status.phase == api::JobPhase::kFailed) ++tally_.failures;
    tally_.ignored += status.restarts.ignored;
  }
  const bool rests = status.suspending_since && !status.is_world_formed && !api::is_over(status.phase);
  if (!rests) {
    if (!awake_since_) awake_since_ = world_.now();
  } else if (awake_since_) {
    awake_ += world_.now() - *awake_since_;
    awake_since_.reset();
    ++rests_;
  }
}

void Laws::check_agents() const {
  EXPECT_EQ(world_.broken_seat(), "");
  if (world_.scenario().has_losses) return;
  EXPECT_LE(world_.job().status.restarts.disruption, left_with_nodes_) << "nothing was lost";
  if (world_.has_resumed_unsaved()) return;
  EXPECT_EQ(world_.repeated_steps(), 0U) << "notice costs no step";
}

void Laws::check_status(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) const {
  EXPECT_GE(after.attempt, before.attempt);
  EXPECT_LE(after.attempt.value(), std::max(before.attempt.value(), world_.scenario().former_attempt) + 1)
      << "one attempt a world";
  EXPECT_GE(after.restarts.application, before.restarts.application);
  EXPECT_GE(after.restarts.hung, before.restarts.hung);
  EXPECT_GE(after.restarts.disruption, before.restarts.disruption);
  if (api::is_over(before.phase)) {
    EXPECT_EQ(after, before) << "the end is the end";
    return;
  }
  for (const auto& member : before.members) {
    const auto* now = find_member(after, member);
    if (!member.is_completed || now == nullptr) continue;
    if (!now->is_completed && !world_.is_end_at_hand()) {
      ++tally_.taken_back;
      continue;
    }
    EXPECT_TRUE(now->is_completed) << "completion was forgotten";
    EXPECT_EQ(now->incarnation, member.incarnation) << "a member that is done is not replaced";
  }
  if (after.phase != api::JobPhase::kFailed) check_checkpoints(before, after);
}

// Each moment belongs to one part, for any events in it.
void Laws::check_ledger(const Observation& seen, const api::TrainingJobStatus& after) {
  const auto whole = [&](const api::JobTimeLedger& ledger) {
    double sum = std::accumulate(ledger.seconds.begin(), ledger.seconds.end(), 0.0);
    if (ledger.since) sum += seconds(seen.wall_now.since_epoch - ledger.since->since_epoch);
    return sum;
  };
  const api::JobTimeLedger& before = seen.job.status.ledger;
  if (before.since) {
    EXPECT_NEAR(whole(after.ledger), whole(before), 0.002);
  }
  EXPECT_EQ(after.ledger.since.has_value(), !api::is_over(after.phase));
  for (std::size_t i = 0; i < api::kTimeLedgerPartCount; ++i)
    EXPECT_GE(after.ledger.seconds[i], before.seconds[i]) << name_of(static_cast<api::TimeLedgerPart>(i));
}

// No pod is made for a job that is to be suspended. The job is suspended when no pod is left, and a pod that
// is seen later goes.
void Laws::check_suspended(const Observation& seen, const Decision& decision) const {
  const bool is_suspended = decision.status.phase == api::JobPhase::kSuspended;
  EXPECT_TRUE(!is_suspended || seen.job.spec.is_suspended);
  std::set<std::string> deleted;
  for (const auto& action : decision.actions) {
    EXPECT_FALSE(seen.job.spec.is_suspended && std::holds_alternative<core::CreatePod>(action));
    if (const auto* gone = std::get_if<core::DeletePod>(&action)) deleted.insert(gone->uid);
  }
  const bool was_suspended = seen.job.status.phase == api::JobPhase::kSuspended;
  for (const auto& pod : seen.pods) {
    const bool is_there = !pod.has_ended() || pod.has_running_sidecars;
    EXPECT_TRUE(!is_suspended || was_suspended || !is_there) << pod.name << " is still there";
    EXPECT_TRUE(!is_suspended || !is_there || pod.is_deleting || deleted.contains(pod.uid))
        << pod.name << " is left";
  }
}

// A member waits whose program, storage or accelerator failed, whose pod a kubelet did not start, or that may
// have no connection to the operator or to other members. A member that was lost otherwise does not wait; a
// pause that is over is no pause, and no pause is longer than the longest that the job allows now.
void Laws::check_pauses(const Observation& seen, const Decision& decision) const {
  std::set<std::string> made;
  for (const auto& action : decision.actions)
    if (const auto* create = std::get_if<core::CreatePod>(&action)) made.insert(create->pod.name);
  const bool is_any_crash = decision.status.restarts.application > seen.job.status.restarts.application ||
                            is_any_rejected(decision) || lost_its_storage(decision) ||
                            has_device_fault(decision) || is_any_member_unheard(decision) ||
                            is_any_unreachable(decision);
  const std::chrono::seconds longest(seen.job.spec.restart_policy.backoff_max_seconds);
  const WallTime latest{seen.wall_now.since_epoch + longest};
  for (const auto& member : decision.status.members) {
    if (!member.next_pod_not_before) continue;
    EXPECT_GT(*member.next_pod_not_before, seen.wall_now);
    EXPECT_LE(*member.next_pod_not_before, latest);
    EXPECT_FALSE(made.contains(name_of(member))) << name_of(member) << " was to be made later";
    const auto* before = find_member(seen.job.status, member);
    const bool has_waited = before != nullptr && before->next_pod_not_before &&
                            std::min(*before->next_pod_not_before, latest) == *member.next_pod_not_before;
    EXPECT_TRUE(has_waited || is_any_crash) << name_of(member) << " waits for no reason";
    EXPECT_TRUE(decision.wake_at || decision.status.suspending_since) << "no decision would end the pause";
  }
  if (!is_any_crash || seen.job.spec.restart_policy.backoff_seconds == 0) return;
  for (const auto& member : decision.status.members) {
    const auto* before = find_member(seen.job.status, member);
    if (before == nullptr) continue;
    EXPECT_FALSE(!before->is_leaving() && lost_its_storage(decision, name_of(*before)) &&
                 made.contains(name_of(member)))
        << name_of(member) << " is made at once, and its storage is away";
    if (!member.is_leaving() || !before->is_leaving()) continue;
    const api::MemberStatus next{.role = member.role, .index = member.index, .incarnation = member.successor};
    const bool has_failed = failed_in(
        decision, name_of({.role = before->role, .index = before->index, .incarnation = before->successor}));
    EXPECT_FALSE(has_failed && made.contains(name_of(next)))
        << name_of(next) << " takes the place of a successor that failed, without a pause";
  }
}

// An incarnation that disappears was lost and is counted, or its successor waited to take over.
void Laws::check_counting(const Observation& seen, const Decision& decision) const {
  const auto lost = lost_in(decision);
  EXPECT_EQ(ends_counted(decision.status) - ends_counted(seen.job.status),
            lost.size() + worlds_hung_in(decision))
      << "each ended incarnation counts once";
  for (const auto& before : seen.job.status.members) {
    const auto* now = find_member(decision.status, before);
    if (now == nullptr) continue;  // the job became smaller
    const auto& after = *now;
    if (after.incarnation == before.incarnation && !before.uid.empty()) {
      EXPECT_EQ(after.uid, before.uid) << "another pod took its name";
    }
    EXPECT_GE(std::max(after.incarnation, after.successor), std::max(before.incarnation, before.successor))
        << "a name is used once";
    if (after.incarnation == before.incarnation) continue;
    // The end is known in part, at least: by the stored status, by its present messages, or, as a whole, by
    // the record that its pod left.
    const bool was_done = before.is_completed || before.done != 0 || world_.has_been_done(before) ||
                          std::ranges::any_of(seen.processes, [&](const auto& process) {
                            return process.is_completed && process.identity.member_uid == before.uid;
                          });
    if (was_done && !world_.is_end_at_hand()) continue;
    EXPECT_FALSE(before.is_completed);
    if (seen.job.spec.is_suspended && !decision.status.is_world_formed) continue;
    if (core::is_released(decision.status)) continue;
    const bool is_handed_over = before.successor == after.incarnation && world_.all_wait_in(after.uid);
    EXPECT_TRUE(lost.contains(name_of(before)) || is_handed_over || waits_away_from_nodes(seen, before))
        << name_of(before) << " was replaced for no reason";
  }
}

}  // namespace ratoon::sim
