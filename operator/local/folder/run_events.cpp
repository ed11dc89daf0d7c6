#include "operator/local/folder/run_events.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/contract/resume_point.h"
#include "operator/api/status_account.h"

namespace ratoon::local {
namespace {

using nlohmann::json;

constexpr int kEventFormatVersion = 1;
constexpr Duration kStepEventPauseMin = std::chrono::milliseconds(500);
// The pause between two lines about steps is at least a 200th of the run's duration so far. The number of
// these lines therefore grows only slowly in a long run.
constexpr int kStepEventPauseDivisor = 200;

std::string make_event_line(const char* kind, WallTime now, json body = json::object()) {
  body["kind"] = kind;
  body["time"] = format_rfc3339(now);
  return body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string member_state_of(const api::Pod& pod) {
  if (pod.phase == api::PodPhase::kSucceeded) return "succeeded";
  if (pod.phase == api::PodPhase::kFailed) return "failed";
  if (pod.is_deleting) return "deleting";
  return pod.phase == api::PodPhase::kRunning ? "running" : "pending";
}

}  // namespace

void RunEvents::begin(const api::TrainingJob& job, WallTime now, Timestamp at) {
  run_began_ = at;
  last_status_ = job.status;
  last_status_.is_world_formed = false;  // no world outlives its runner
  last_status_.ledger = {};              // the time since the last runner ended was booked meanwhile
  write_(make_event_line("run", now, {{"events", kEventFormatVersion}, {"job", job.meta.name}}));
}

void RunEvents::observe(const api::TrainingJobStatus& status, const std::vector<api::Pod>& pods, WallTime now,
                        Timestamp at) {
  for (const auto& pod : pods) observe_member(pod, now);
  observe_gone_members(pods, now);
  observe_progress(status, now, at);
  observe_world(status, now);
  observe_ledger(status.ledger, now);
  last_status_ = status;
}

void RunEvents::observe_member(const api::Pod& pod, WallTime now) {
  std::string& state = members_[pod.name];
  if (state == member_state_of(pod)) return;
  state = member_state_of(pod);
  json body = {{"member", pod.name}, {"role", pod.role}, {"index", pod.index},
               {"node", pod.node},   {"state", state},   {"incarnation", pod.incarnation}};
  if (pod.exit_code) body["exitCode"] = *pod.exit_code;
  write_(make_event_line("member", now, std::move(body)));
}

void RunEvents::observe_gone_members(const std::vector<api::Pod>& pods, WallTime now) {
  std::erase_if(members_, [&](const auto& member) {
    if (std::any_of(pods.begin(), pods.end(), [&](const auto& pod) { return pod.name == member.first; }))
      return false;
    write_(make_event_line("member", now, {{"member", member.first}, {"state", "gone"}}));
    return true;
  });
}

void RunEvents::observe_world(const api::TrainingJobStatus& status, WallTime now) {
  const bool is_same = status.attempt == last_status_.attempt;
  if (last_status_.is_world_formed && !(status.is_world_formed && is_same))
    write_(make_event_line("apart", now, {{"attempt", last_status_.attempt.value()}}));
  if (status.is_world_formed && !(last_status_.is_world_formed && is_same))
    write_(make_event_line("world", now, {{"attempt", status.attempt.value()}, {"size", status.world_size}}));
  if (status.last_disruption && status.last_disruption != last_status_.last_disruption)
    write_(make_event_line("recovery", now, {{"disruption", api::encode_status(status)["lastDisruption"]}}));
}

// Writes a line only when the job enters another part of its time ledger, because the sums of the ledger
// change only at that time.
void RunEvents::observe_ledger(const api::JobTimeLedger& ledger, WallTime now) {
  if (ledger.part == last_status_.ledger.part && ledger.since == last_status_.ledger.since) return;
  write_(make_event_line("ledger", now, {{"ledger", api::encode_time_ledger(ledger)}}));
}

void RunEvents::observe_progress(const api::TrainingJobStatus& status, WallTime now, Timestamp at) {
  const auto& saved = status.last_checkpoint;
  if (saved && (!last_status_.last_checkpoint || is_newer(*saved, *last_status_.last_checkpoint))) {
    write_(make_event_line("checkpoint", now,
                           {{"attempt", saved->attempt.value()}, {"step", saved->step.value()}}));
  }
  if (status.step == last_status_.step) return;
  const Duration pause = std::max(kStepEventPauseMin, (at - *run_began_) / kStepEventPauseDivisor);
  if (last_step_event_at_ && at - *last_step_event_at_ < pause) return;
  last_step_event_at_ = at;
  write_(make_event_line("step", now, {{"attempt", status.attempt.value()}, {"step", status.step.value()}}));
}

void RunEvents::record_message(const std::string& reason, const std::string& message, WallTime now) {
  write_(make_event_line("news", now, {{"reason", reason}, {"message", message}}));
}

void RunEvents::end(WallTime now) {
  write_(make_event_line("end", now,
                         {{"phase", api::name_of(last_status_.phase)},
                          {"message", last_status_.message},
                          {"step", last_status_.step.value()}}));
}

}  // namespace ratoon::local
