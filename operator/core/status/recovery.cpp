#include "operator/core/status/recovery.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/core/count_with_noun.h"
#include "operator/core/members/suspect_nodes.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

using Watch = RecoveryTimestamps;

bool has_sent_message(const Observation& seen, const api::MemberStatus& member) {
  return std::any_of(seen.processes.begin(), seen.processes.end(),
                     [&](const auto& process) { return is_process_of(process.identity, member); });
}

// Returns whether each process of the attempt has completed or has a newest heartbeat for which `says` is
// true.
bool do_all_assigned_report(const Observation& seen, const std::function<bool(const Heartbeat&)>& says) {
  return std::all_of(seen.world.begin(), seen.world.end(), [&](const auto& seat) {
    const auto* process = find_process(seen, seat.process);
    if (process == nullptr) return false;
    if (process->is_completed) return true;
    return process->beat && process->beat->attempt == seat.assignment.attempt && says(*process->beat);
  });
}

// Returns whether each process of the world's members has completed or has a newest heartbeat for which
// `says` is true. Call do_all_members_report() if the operator does not know the world's assignments.
bool do_all_members_report(const Observation& seen, const std::function<bool(const Heartbeat&)>& says) {
  return std::ranges::all_of(seen.job.status.members, [&](const api::MemberStatus& member) {
    if (member.is_absent || member.is_completed) return true;
    const auto count = std::ranges::count_if(processes_of(seen, member), [&](const auto* process) {
      if (!is_process_of(process->identity, member)) return false;
      return process->is_completed ||
             (process->beat && process->beat->attempt == seen.job.status.attempt && says(*process->beat));
    });
    return std::cmp_equal(count, seen.job.spec.processes_per_node);
  });
}

bool do_all_ranks_report(const Observation& seen, const std::function<bool(const Heartbeat&)>& says) {
  return seen.world.empty() ? do_all_members_report(seen, says) : do_all_assigned_report(seen, says);
}

// Returns the time of a lost member's last message. A hung process still sends heartbeats, so for a hung
// process returns the time at which its phase (such as a step) began.
Timestamp last_message_time_of(const Observation& seen, const Loss& loss, Timestamp now) {
  std::optional<Timestamp> last;
  for (const auto& process : seen.processes) {
    if (!is_process_of(process.identity, loss.member)) continue;
    Timestamp sign = std::min(now, process.last_heard);
    if (loss.cause == EndCause::kHung && process.beat)
      sign = sign - from_seconds(process.beat->seconds_in_phase);
    last = std::min(sign, last.value_or(sign));
  }
  if (last) return *last;
  // The member sent this operator no message. A silent member of a world that a former leader formed counts
  // as silent since this operator began to listen.
  return is_world_unknown(seen) && loss.is_silent ? std::min(now, seen.listening_since) : now;
}

struct NewRecovery {
  api::OpenRecovery open;
  Watch watch;
};

WallTime to_wall_time(const Observation& seen, Timestamp moment, Timestamp now) {
  return {seen.wall_now.since_epoch - (now - moment)};
}

NewRecovery make_new_recovery(const Observation& seen, const Loss& loss, Timestamp last_message_at,
                              Timestamp now) {
  const auto& lost = loss.member;
  return {.open = {.member = display_name(seen, lost),
                   .role = lost.role,
                   .index = lost.index,
                   .node = lost.node,
                   .reason = loss.reason,
                   .is_hung = loss.cause == EndCause::kHung,
                   .time = seen.wall_now,
                   .last_message_at = to_wall_time(seen, last_message_at, now)},
          .watch = {.last_message_at = last_message_at, .judged_lost_at = now}};
}

// Continues to measure a recovery after a change of leader. A time in the future, which occurs after a clock
// was set back, becomes the current time.
Watch resume_measurement(const Observation& seen, const api::OpenRecovery& open, Timestamp now) {
  const auto moment_of = [&](WallTime time) {
    return now - std::max(Duration(0), seen.wall_now.since_epoch - time.since_epoch);
  };
  const Timestamp decided = moment_of(open.time);
  return {.last_message_at = std::min(decided, moment_of(open.last_message_at)), .judged_lost_at = decided};
}

void set_if_reached(std::optional<Timestamp>& moment, bool is_reached, Timestamp now) {
  if (is_reached && !moment) moment = now;
}

void record_recovery_phases(const Observation& seen, const api::TrainingJobStatus& status, Timestamp now,
                            Watch& watch) {
  const api::OpenRecovery& open = *status.open_recovery;
  const auto member = std::find_if(status.members.begin(), status.members.end(), [&](const auto& m) {
    return m.index == open.index && m.role == open.role;
  });
  if (member == status.members.end()) return;
  const api::Pod* pod = find_pod(seen, *member);
  set_if_reached(watch.pod_created_at, pod != nullptr, now);
  set_if_reached(watch.pod_placed_at, pod != nullptr && !pod->node.empty(), now);
  set_if_reached(watch.first_message_at, has_sent_message(seen, *member), now);
  if (api::is_agentless(seen.job.spec) &&
      status.is_world_formed) {  // such a program shows only that its pods run
    for (auto* moment :
         {&watch.first_message_at, &watch.world_joined_at, &watch.state_loaded_at, &watch.first_step_at})
      set_if_reached(*moment, true, now);
    return;
  }
  const bool is_world_formed = status.is_world_formed && seen.job.status.is_world_formed &&
                               seen.job.status.attempt == status.attempt &&
                               status.ledger.newest_attempt == status.attempt;
  if (!is_world_formed) return;
  set_if_reached(watch.world_joined_at, do_all_ranks_report(seen, [](const Heartbeat&) { return true; }),
                 now);
  if (api::uses_launcher(seen.job.spec)) {  // a launcher speaks of an attempt when it has started its program
    for (auto* moment : {&watch.state_loaded_at, &watch.first_step_at})
      set_if_reached(*moment, watch.world_joined_at.has_value(), now);
    return;
  }
  const Step resumed = status.ledger.resumed_step;
  const auto has_state = [&](const Heartbeat& beat) {
    const bool is_before = beat.phase == ProcessPhase::kJoining || beat.phase == ProcessPhase::kUser ||
                           beat.phase == ProcessPhase::kLoad;
    return !is_before || beat.step > resumed;
  };
  set_if_reached(watch.state_loaded_at, do_all_ranks_report(seen, has_state), now);
  set_if_reached(watch.first_step_at,
                 do_all_ranks_report(seen, [&](const Heartbeat& b) { return b.step > resumed; }), now);
}

api::RecoveryPhases phase_durations(const Watch& watch) {
  Timestamp before = watch.last_message_at;
  // If a phase ended earlier than the phase before it, the later phase counts as zero seconds.
  const auto since_before = [&](const std::optional<Timestamp>& end) {
    const Timestamp moment = std::max(before, end.value_or(before));
    const double passed = seconds(moment - before);
    before = moment;
    return passed;
  };
  api::RecoveryPhases phases;
  phases.detect_seconds = since_before(watch.judged_lost_at);
  phases.decide_seconds = since_before(watch.pod_created_at);
  phases.place_seconds = since_before(watch.pod_placed_at);
  phases.start_seconds = since_before(watch.first_message_at);
  phases.rendezvous_seconds = since_before(watch.world_joined_at);
  phases.load_seconds = since_before(watch.state_loaded_at);
  phases.first_step_seconds = since_before(watch.first_step_at);
  return phases;
}

std::string describe_recovery(const api::Disruption& done, const char* what) {
  const auto& p = done.phases;
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "all members %s again after %.2f s (detect %.2f, decide %.2f, place %.2f, start %.2f, "
                "rendezvous %.2f, load %.2f, first step %.2f); %s made again",
                what, p.total_seconds(), p.detect_seconds, p.decide_seconds, p.place_seconds, p.start_seconds,
                p.rendezvous_seconds, p.load_seconds, p.first_step_seconds,
                count_with_noun(done.lost_steps, "step is", "steps are").c_str());
  return text.data();
}

void finish_recovery(const Observation& seen, const Watch& watch, Decision& decision) {
  const char* const what = api::reports_steps(seen.job.spec) ? "step" : "run";
  const api::OpenRecovery& open = *decision.status.open_recovery;
  const api::Disruption done{.member = open.member,
                             .node = open.node,
                             .reason = open.reason,
                             .time = open.time,
                             .lost_steps = open.lost_steps,
                             .phases = phase_durations(watch)};
  decision.actions.push_back(EmitEvent{.is_warning = false,
                                       .reason = "Recovered",
                                       .message = done.member + ": " + describe_recovery(done, what)});
  decision.status.last_disruption = done;
  decision.status.open_recovery.reset();
  decision.recovery.reset();
}

// Returns the losses of `change`. If the operator gives up the whole world, no single member is lost. In this
// case, the function returns one loss of the world's first member, so that the recovery names this member.
std::vector<Loss> losses_of(const Observation& seen, const RosterChange& change) {
  if (change.gives_up_world.empty()) return change.losses;
  const auto& members = seen.job.status.members;
  const auto sits = [](const api::MemberStatus& member) { return !member.is_absent && !member.is_completed; };
  const auto first = std::find_if(members.begin(), members.end(), sits);
  if (first == members.end()) return change.losses;
  return {{.member = *first, .reason = change.gives_up_world, .cause = EndCause::kHung}};
}

constexpr std::string_view kFirstLossPhrase = "; the recovery began with the loss of ";

// Returns the member whose loss began the recovery.
std::string first_member_of(const api::OpenRecovery& open) {
  const auto at = open.reason.find(kFirstLossPhrase);
  return at == std::string::npos ? open.member : open.reason.substr(at + kFirstLossPhrase.size());
}

// A further loss during a recovery continues that recovery, and begins no new one. The recovery then names
// the last lost member as its member, and the first lost member in its reason.
void begin_or_continue_recovery(NewRecovery next, Decision& decision) {
  auto& open = decision.status.open_recovery;
  if (open) {
    const std::string first = first_member_of(*open);
    if (first != next.open.member) next.open.reason += std::string(kFirstLossPhrase) + first;
    next.open.time = open->time;
    next.open.last_message_at = open->last_message_at;
    next.open.is_hung = next.open.is_hung || open->is_hung;
    next.open.lost_steps = open->lost_steps;
    next.watch.last_message_at = decision.recovery->last_message_at;
    next.watch.judged_lost_at = decision.recovery->judged_lost_at;
  }
  open = std::move(next.open);
  decision.recovery = next.watch;
}

// Begins a recovery after a hand-over: the world ended without a loss, because a successor replaced a member
// or a process left by itself. The next world may already exist when this recovery begins.
void begin_after_hand_over(const Observation& seen, Timestamp now, Decision& decision) {
  for (const auto& member : seen.job.status.members) {
    if (decision.recovery || !member.is_leaving()) continue;
    const api::Pod* pod = find_pod(seen, member);
    const bool is_deleted = pod != nullptr && pod->is_deleting;
    const bool is_cut_off = is_without_connections(seen, member.node);
    const Loss loss{.member = member,
                    .reason = is_deleted   ? "its pod was deleted"
                              : is_cut_off ? "its node is avoided"
                                           : "its node will become unavailable"};
    begin_or_continue_recovery(make_new_recovery(seen, loss, now, now), decision);
  }
}

// If this decision forms the next world, adds to the recovery the number of steps that this world must
// repeat.
void add_repeated_steps(const Observation& seen, Decision& decision) {
  const auto& before = seen.job.status;
  auto& status = decision.status;
  const bool is_new = status.is_world_formed && (!before.is_world_formed || before.attempt != status.attempt);
  if (!is_new) return;
  status.open_recovery->lost_steps += status.ledger.repeated_step_count - before.ledger.repeated_step_count;
}

}  // namespace

void measure_recovery(const Observation& seen, const RosterChange& change, Timestamp now,
                      Decision& decision) {
  auto& open = decision.status.open_recovery;
  decision.recovery = open ? seen.recovery : std::nullopt;
  if (open && !decision.recovery) decision.recovery = resume_measurement(seen, *open, now);
  const bool was_training = seen.job.status.is_world_formed;
  const auto losses = losses_of(seen, change);
  if (!losses.empty() && (open || was_training))
    begin_or_continue_recovery(
        make_new_recovery(seen, losses.front(), last_message_time_of(seen, losses.front(), now), now),
        decision);
  else if (was_training && decision.status.attempt != seen.job.status.attempt)
    begin_after_hand_over(seen, now, decision);
  if (!open) return;
  add_repeated_steps(seen, decision);
  record_recovery_phases(seen, decision.status, now, *decision.recovery);
  if (decision.recovery->first_step_at) finish_recovery(seen, *decision.recovery, decision);
}

}  // namespace ratoon::core
