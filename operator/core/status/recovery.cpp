#include "operator/core/status/recovery.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/core/counted.h"
#include "operator/core/members/suspect_nodes.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

using Watch = RecoveryWatch;

bool speaks(const Observation& seen, const api::MemberStatus& member) {
  return std::any_of(seen.processes.begin(), seen.processes.end(),
                     [&](const auto& process) { return is_process_of(process.identity, member); });
}

// Returns whether each process of the attempt has completed or has a newest heartbeat for which `says` is
// true.
bool all_seated(const Observation& seen, const std::function<bool(const Beat&)>& says) {
  return std::all_of(seen.world.begin(), seen.world.end(), [&](const auto& seat) {
    const auto* process = find_process(seen, seat.process);
    if (process == nullptr) return false;
    if (process->is_completed) return true;
    return process->beat && process->beat->attempt == seat.assignment.attempt && says(*process->beat);
  });
}

// Returns whether each process of the world's members has completed or fulfils `says`; used if this operator
// does not know the world's assignments.
bool all_of_members(const Observation& seen, const std::function<bool(const Beat&)>& says) {
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

bool all_ranks(const Observation& seen, const std::function<bool(const Beat&)>& says) {
  return seen.world.empty() ? all_of_members(seen, says) : all_seated(seen, says);
}

// Returns the time of a lost member's last message; for a hung process, which still sends heartbeats, the
// start of its phase.
Timestamp last_sign_of(const Observation& seen, const Loss& loss, Timestamp now) {
  std::optional<Timestamp> last;
  for (const auto& process : seen.processes) {
    if (!is_process_of(process.identity, loss.member)) continue;
    Timestamp sign = std::min(now, process.last_heard);
    if (loss.cause == EndCause::kHung && process.beat)
      sign = sign - from_seconds(process.beat->seconds_in_phase);
    last = std::min(sign, last.value_or(sign));
  }
  if (last) return *last;
  // The member has never sent a message to this operator, which became leader while the world trained.
  return is_world_forgotten(seen) && loss.is_silent ? std::min(now, seen.listening_since) : now;
}

struct Opened {
  api::OpenRecovery open;
  Watch watch;
};

WallTime to_wall(const Observation& seen, Timestamp moment, Timestamp now) {
  return {seen.wall_now.since_epoch - (now - moment)};
}

Opened begin(const Observation& seen, const Loss& loss, Timestamp last_sign, Timestamp now) {
  const auto& lost = loss.member;
  return {.open = {.member = display_name(seen, lost),
                   .role = lost.role,
                   .index = lost.index,
                   .node = lost.node,
                   .reason = loss.reason,
                   .is_hung = loss.cause == EndCause::kHung,
                   .time = seen.wall_now,
                   .last_sign = to_wall(seen, last_sign, now)},
          .watch = {.last_sign = last_sign, .decided = now}};
}

// Continues to measure a recovery after a change of leader. A time in the future, which occurs after a clock
// was set back, becomes the current time.
Watch resume_watch(const Observation& seen, const api::OpenRecovery& open, Timestamp now) {
  const auto moment_of = [&](WallTime time) {
    return now - std::max(Duration(0), seen.wall_now.since_epoch - time.since_epoch);
  };
  const Timestamp decided = moment_of(open.time);
  return {.last_sign = std::min(decided, moment_of(open.last_sign)), .decided = decided};
}

void stamp(std::optional<Timestamp>& moment, bool is_reached, Timestamp now) {
  if (is_reached && !moment) moment = now;
}

void observe(const Observation& seen, const api::TrainingJobStatus& status, Timestamp now, Watch& watch) {
  const api::OpenRecovery& open = *status.open_recovery;
  const auto member = std::find_if(status.members.begin(), status.members.end(), [&](const auto& m) {
    return m.index == open.index && m.role == open.role;
  });
  if (member == status.members.end()) return;
  const api::Pod* pod = find_pod(seen, *member);
  stamp(watch.created, pod != nullptr, now);
  stamp(watch.placed, pod != nullptr && !pod->node.empty(), now);
  stamp(watch.spoke, speaks(seen, *member), now);
  if (api::is_group(seen.job.spec) && status.is_formed) {  // such a program shows only that its pods run
    for (auto* moment : {&watch.spoke, &watch.met, &watch.loaded, &watch.stepped}) stamp(*moment, true, now);
    return;
  }
  const bool is_formed = status.is_formed && seen.job.status.is_formed &&
                         seen.job.status.attempt == status.attempt &&
                         status.ledger.newest_attempt == status.attempt;
  if (!is_formed) return;
  stamp(watch.met, all_ranks(seen, [](const Beat&) { return true; }), now);
  const Step resumed = status.ledger.resumed_step;
  const auto has_state = [&](const Beat& beat) {
    const bool is_before = beat.phase == ProcessPhase::kJoining || beat.phase == ProcessPhase::kUser ||
                           beat.phase == ProcessPhase::kLoad;
    return !is_before || beat.step > resumed;
  };
  stamp(watch.loaded, all_ranks(seen, has_state), now);
  stamp(watch.stepped, all_ranks(seen, [&](const Beat& b) { return b.step > resumed; }), now);
}

api::RecoveryPhases measure(const Watch& watch) {
  Timestamp before = watch.last_sign;
  // If a phase ended earlier than its preceding phase, it counts as zero seconds.
  const auto since_before = [&](const std::optional<Timestamp>& end) {
    const Timestamp moment = std::max(before, end.value_or(before));
    const double passed = seconds(moment - before);
    before = moment;
    return passed;
  };
  api::RecoveryPhases phases;
  phases.detect_seconds = since_before(watch.decided);
  phases.decide_seconds = since_before(watch.created);
  phases.place_seconds = since_before(watch.placed);
  phases.start_seconds = since_before(watch.spoke);
  phases.rendezvous_seconds = since_before(watch.met);
  phases.load_seconds = since_before(watch.loaded);
  phases.first_step_seconds = since_before(watch.stepped);
  return phases;
}

std::string describe(const api::Disruption& done, const char* what) {
  const auto& p = done.phases;
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "all members %s again after %.2f s (detect %.2f, decide %.2f, place %.2f, start %.2f, "
                "rendezvous %.2f, load %.2f, first step %.2f); %s made again",
                what, p.total_seconds(), p.detect_seconds, p.decide_seconds, p.place_seconds, p.start_seconds,
                p.rendezvous_seconds, p.load_seconds, p.first_step_seconds,
                counted(done.lost_steps, "step is", "steps are").c_str());
  return text.data();
}

void finish(const Observation& seen, const Watch& watch, Decision& decision) {
  const char* const what = api::is_group(seen.job.spec) ? "run" : "step";
  const api::OpenRecovery& open = *decision.status.open_recovery;
  const api::Disruption done{.member = open.member,
                             .node = open.node,
                             .reason = open.reason,
                             .time = open.time,
                             .lost_steps = open.lost_steps,
                             .phases = measure(watch)};
  decision.actions.push_back(EmitEvent{
      .is_warning = false, .reason = "Recovered", .message = done.member + ": " + describe(done, what)});
  decision.status.last_disruption = done;
  decision.status.open_recovery.reset();
  decision.recovery.reset();
}

// Returns the losses. If no single member was lost because the whole world was given up, the recovery names
// the world's first member.
std::vector<Loss> losses_of(const Observation& seen, const RosterChange& change) {
  if (change.gives_up_world.empty()) return change.losses;
  const auto& members = seen.job.status.members;
  const auto sits = [](const api::MemberStatus& member) { return !member.is_absent && !member.is_completed; };
  const auto first = std::find_if(members.begin(), members.end(), sits);
  if (first == members.end()) return change.losses;
  return {{.member = *first, .reason = change.gives_up_world, .cause = EndCause::kHung}};
}

// A further loss during a recovery continues that recovery, which began with the first loss.
void take_loss(Opened next, Decision& decision) {
  auto& open = decision.status.open_recovery;
  if (open) {
    next.open.time = open->time;
    next.open.last_sign = open->last_sign;
    next.open.is_hung = next.open.is_hung || open->is_hung;
    next.open.lost_steps = open->lost_steps;
    next.watch.last_sign = decision.recovery->last_sign;
    next.watch.decided = decision.recovery->decided;
  }
  open = std::move(next.open);
  decision.recovery = next.watch;
}

// Begins a recovery after a hand-over: the world ended without a loss, because a successor replaced a member
// or a process left by itself. When this recovery begins, the next world may exist already.
void take_hand_over(const Observation& seen, Timestamp now, Decision& decision) {
  for (const auto& member : seen.job.status.members) {
    if (decision.recovery || !member.is_leaving()) continue;
    const api::Pod* pod = find_pod(seen, member);
    const bool is_deleted = pod != nullptr && pod->is_deleting;
    const bool is_cut_off = is_without_connections(seen, member.node);
    const Loss loss{.member = member,
                    .reason = is_deleted   ? "its pod was deleted"
                              : is_cut_off ? "its node is avoided"
                                           : "its node will become unavailable"};
    take_loss(begin(seen, loss, now, now), decision);
  }
}

// If this decision forms the next world, adds the steps that it must repeat to the recovery.
void note_formed(const Observation& seen, Decision& decision) {
  const auto& before = seen.job.status;
  auto& status = decision.status;
  const bool is_new = status.is_formed && (!before.is_formed || before.attempt != status.attempt);
  if (!is_new) return;
  status.open_recovery->lost_steps += status.ledger.steps_made_again - before.ledger.steps_made_again;
}

}  // namespace

void watch_recovery(const Observation& seen, const RosterChange& change, Timestamp now, Decision& decision) {
  auto& open = decision.status.open_recovery;
  decision.recovery = open ? seen.recovery : std::nullopt;
  if (open && !decision.recovery) decision.recovery = resume_watch(seen, *open, now);
  const bool was_training = seen.job.status.is_formed;
  const auto losses = losses_of(seen, change);
  if (!losses.empty() && (open || was_training))
    take_loss(begin(seen, losses.front(), last_sign_of(seen, losses.front(), now), now), decision);
  else if (was_training && decision.status.attempt != seen.job.status.attempt)
    take_hand_over(seen, now, decision);
  if (!open) return;
  note_formed(seen, decision);
  observe(seen, decision.status, now, *decision.recovery);
  if (decision.recovery->stepped) finish(seen, *decision.recovery, decision);
}

}  // namespace ratoon::core
