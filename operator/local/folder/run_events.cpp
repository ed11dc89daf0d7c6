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

constexpr int kFormat = 1;
constexpr Duration kStepPause = std::chrono::milliseconds(500);
// The pause between two step lines is at least a 200th of the run's duration so far, which limits the number
// of step lines for a run of any length.
constexpr int kStepShare = 200;

std::string line_of(const char* kind, WallTime now, json body = json::object()) {
  body["kind"] = kind;
  body["time"] = format_rfc3339(now);
  return body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string state_of(const api::Pod& pod) {
  if (pod.phase == api::PodPhase::kSucceeded) return "succeeded";
  if (pod.phase == api::PodPhase::kFailed) return "failed";
  if (pod.is_deleting) return "deleting";
  return pod.phase == api::PodPhase::kRunning ? "running" : "pending";
}

}  // namespace

void RunEvents::begin(const api::TrainingJob& job, WallTime now) {
  began_ = now;
  seen_ = job.status;
  seen_.is_formed = false;  // no world outlives its runner
  seen_.ledger = {};        // the time since the last runner ended was booked meanwhile
  write_(line_of("run", now, {{"events", kFormat}, {"job", job.meta.name}}));
}

void RunEvents::observe(const api::TrainingJobStatus& status, const std::vector<api::Pod>& pods,
                        WallTime now) {
  for (const auto& pod : pods) observe_member(pod, now);
  observe_gone(pods, now);
  observe_progress(status, now);
  observe_world(status, now);
  observe_ledger(status.ledger, now);
  seen_ = status;
}

void RunEvents::observe_member(const api::Pod& pod, WallTime now) {
  std::string& state = members_[pod.name];
  if (state == state_of(pod)) return;
  state = state_of(pod);
  json body = {{"member", pod.name}, {"role", pod.role}, {"index", pod.index},
               {"node", pod.node},   {"state", state},   {"incarnation", pod.incarnation}};
  if (pod.exit_code) body["exitCode"] = *pod.exit_code;
  write_(line_of("member", now, std::move(body)));
}

void RunEvents::observe_gone(const std::vector<api::Pod>& pods, WallTime now) {
  std::erase_if(members_, [&](const auto& member) {
    if (std::any_of(pods.begin(), pods.end(), [&](const auto& pod) { return pod.name == member.first; }))
      return false;
    write_(line_of("member", now, {{"member", member.first}, {"state", "gone"}}));
    return true;
  });
}

void RunEvents::observe_world(const api::TrainingJobStatus& status, WallTime now) {
  const bool is_same = status.attempt == seen_.attempt;
  if (seen_.is_formed && !(status.is_formed && is_same))
    write_(line_of("apart", now, {{"attempt", seen_.attempt.value()}}));
  if (status.is_formed && !(seen_.is_formed && is_same))
    write_(line_of("world", now, {{"attempt", status.attempt.value()}, {"size", status.world_size}}));
  if (status.last_disruption && status.last_disruption != seen_.last_disruption)
    write_(line_of("recovery", now, {{"disruption", api::encode_status(status)["lastDisruption"]}}));
}

// The ledger's sums change only when another part of the time begins, so write a line only then.
void RunEvents::observe_ledger(const api::JobLedger& ledger, WallTime now) {
  if (ledger.part == seen_.ledger.part && ledger.since == seen_.ledger.since) return;
  write_(line_of("ledger", now, {{"ledger", api::encode_ledger(ledger)}}));
}

void RunEvents::observe_progress(const api::TrainingJobStatus& status, WallTime now) {
  const auto& saved = status.last_checkpoint;
  if (saved && (!seen_.last_checkpoint || is_newer(*saved, *seen_.last_checkpoint))) {
    write_(line_of("checkpoint", now, {{"attempt", saved->attempt.value()}, {"step", saved->step.value()}}));
  }
  if (status.step == seen_.step) return;
  const Duration pause = std::max(kStepPause, (now.since_epoch - began_->since_epoch) / kStepShare);
  if (stepped_ && now.since_epoch - stepped_->since_epoch < pause) return;
  stepped_ = now;
  write_(line_of("step", now, {{"attempt", status.attempt.value()}, {"step", status.step.value()}}));
}

void RunEvents::tell(const std::string& reason, const std::string& message, WallTime now) {
  write_(line_of("news", now, {{"reason", reason}, {"message", message}}));
}

void RunEvents::end(WallTime now) {
  write_(line_of(
      "end", now,
      {{"phase", api::name_of(seen_.phase)}, {"message", seen_.message}, {"step", seen_.step.value()}}));
}

}  // namespace ratoon::local
