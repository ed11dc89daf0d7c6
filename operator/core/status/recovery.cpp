#include "operator/core/status/recovery.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "base/core/counted.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

using Watch = RecoveryWatch;

bool speaks(const Observation& seen, const api::MemberStatus& member) {
  return std::any_of(seen.processes.begin(), seen.processes.end(),
                     [&](const auto& process) { return is_process_of(process.identity, member); });
}

// Whether the beats of all seats of the attempt satisfy the condition. Completed processes satisfy all
// conditions.
bool all_ranks(const Observation& seen, const std::function<bool(const Beat&)>& says) {
  return !seen.world.empty() && std::all_of(seen.world.begin(), seen.world.end(), [&](const auto& seat) {
    const auto* process = find_process(seen, seat.process);
    if (process == nullptr) return false;
    if (process->is_completed) return true;
    return process->beat && process->beat->attempt == seat.assignment.attempt && says(*process->beat);
  });
}

// A hung process sends beats all the time, so its last sign of life is the start of its present phase.
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
  // The member has never sent a message to this operator, and the world is older than the operator.
  return is_world_forgotten(seen) && loss.is_silent ? std::min(now, seen.listening_since) : now;
}

Watch begin(const Observation& seen, const Loss& loss, Timestamp now) {
  const auto& lost = loss.member;
  return {.member = display_name(seen, lost),
          .role = lost.role,
          .index = lost.index,
          .node = lost.node,
          .reason = loss.reason,
          .is_hung = loss.cause == EndCause::kHung,
          .time = seen.wall_now,
          .last_sign = last_sign_of(seen, loss, now),
          .decided = now};
}

// Steps that were in the weights of some rank and are not in the resume point.
std::uint64_t count_lost_steps(const Observation& seen) {
  Step reached{0};
  Step resumed{0};
  for (const auto& seat : seen.world) {
    const auto* process = find_process(seen, seat.process);
    if (process != nullptr) reached = std::max(reached, process->left_step);
    if (seat.assignment.resume) resumed = seat.assignment.resume->step;
  }
  return reached > resumed ? reached.value() - resumed.value() : 0;
}

Step resume_step(const Observation& seen) {
  const auto& resume = seen.world.front().assignment.resume;
  return resume ? resume->step : Step(0);
}

void stamp(std::optional<Timestamp>& moment, bool is_reached, Timestamp now) {
  if (is_reached && !moment) moment = now;
}

void observe(const Observation& seen, const api::TrainingJobStatus& status, Timestamp now, Watch& watch) {
  const auto member = std::find_if(status.members.begin(), status.members.end(), [&](const auto& m) {
    return m.index == watch.index && m.role == watch.role;
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
                         seen.job.status.attempt == status.attempt && !seen.world.empty();
  if (!is_formed) return;
  watch.lost_steps = std::max(watch.lost_steps, count_lost_steps(seen));
  stamp(watch.met, all_ranks(seen, [](const Beat&) { return true; }), now);
  const Step resumed = resume_step(seen);
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
  // A phase that ended before its predecessor took no time of its own.
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
  const api::Disruption done{.member = watch.member,
                             .node = watch.node,
                             .reason = watch.reason,
                             .time = watch.time,
                             .lost_steps = watch.lost_steps,
                             .phases = measure(watch)};
  decision.actions.push_back(EmitEvent{
      .is_warning = false, .reason = "Recovered", .message = done.member + ": " + describe(done, what)});
  decision.status.last_disruption = done;
  decision.recovery.reset();
}

// A world that was given up as a whole is reported as the loss of its first member.
std::vector<Loss> losses_of(const Observation& seen, const RosterChange& change) {
  if (change.gives_up_world.empty()) return change.losses;
  const auto& members = seen.job.status.members;
  const auto sits = [](const api::MemberStatus& member) { return !member.is_absent && !member.is_completed; };
  const auto first = std::find_if(members.begin(), members.end(), sits);
  if (first == members.end()) return change.losses;
  return {{.member = *first, .reason = change.gives_up_world, .cause = EndCause::kHung}};
}

}  // namespace

void watch_recovery(const Observation& seen, const RosterChange& change, Timestamp now, Decision& decision) {
  auto& watch = decision.recovery = seen.recovery;
  const bool was_training = seen.job.status.is_formed;
  const auto losses = losses_of(seen, change);
  if (!losses.empty() && (watch || was_training)) {
    Watch next = begin(seen, losses.front(), now);
    // A loss during a recovery belongs to that recovery, which began with the first loss.
    if (watch) {
      next.time = watch->time;
      next.is_hung = next.is_hung || watch->is_hung;
      next.last_sign = watch->last_sign;
      next.decided = watch->decided;
      next.lost_steps = watch->lost_steps;
    }
    watch = std::move(next);
  } else if (was_training && decision.status.attempt != seen.job.status.attempt) {
    // The world ended without a loss: a member was replaced by its successor, or a process left by itself.
    // The next world may exist already.
    for (const auto& member : seen.job.status.members) {
      if (watch || !member.is_leaving()) continue;
      const api::Pod* pod = find_pod(seen, member);
      const bool is_deleted = pod != nullptr && pod->is_deleting;
      watch = begin(
          seen, {.member = member, .reason = is_deleted ? "its pod was deleted" : "its node will go"}, now);
      watch->last_sign = now;
    }
  }
  if (!watch) return;
  observe(seen, decision.status, now, *watch);
  if (watch->stepped) finish(seen, *watch, decision);
}

}  // namespace ratoon::core
