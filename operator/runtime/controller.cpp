#include "operator/runtime/controller.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "operator/core/members/shared_volume_claim.h"
#include "operator/core/reconcile.h"
#include "operator/runtime/jobs/status_debounce.h"

namespace ratoon::runtime {
namespace {

using std::chrono::milliseconds;

constexpr Duration kRetryPauseMin = milliseconds(100);
// The retry pause doubles at most this many times. It stays short, because no event tells when the API server
// answers again.
constexpr int kRetryDoublingsMax = 4;
// After the API server refused a pod, the retry pause doubles up to this many times, because a while may pass
// until a quota has room or a user has corrected the job.
constexpr int kRefusalDoublingsMax = 8;
// The controller decides about each job at least this often, because heartbeats that change only the step
// cause no decision.
constexpr Duration kDecisionIntervalMax = std::chrono::seconds(5);

Duration backoff_after(int times, int doublings_max) {
  return kRetryPauseMin * (1 << std::min(times, doublings_max));
}

// Returns whether a webhook hangs or the server is unreachable, so that a further call would probably wait as
// long as the failed call did.
bool is_server_unresponsive(const Error& error) {
  return error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kTimeout;
}

// Returns whether the server refused the call. A call without an answer, or a conflict with another writer,
// does not count as a refusal.
bool is_refused_call(const Error& error) {
  return !error.is_retryable() || error.kind() == ErrorKind::kNoSpace;
}

std::string format_job_key(const JobKey& key) {
  return key.name_space + "/" + key.name;
}

}  // namespace

Controller::Controller(const Clock& clock, const Logger& logger, WorkQueue& queue, Cluster& cluster,
                       coordinator::JobRegistry& registry, OperatorMetrics& metrics,
                       const core::NoticeRules& notice_rules, std::uint64_t processes_per_namespace,
                       std::string operator_image)
    : clock_(clock),
      logger_(logger),
      queue_(queue),
      cluster_(cluster),
      registry_(registry),
      metrics_(metrics),
      notice_rules_(notice_rules),
      process_limit_(processes_per_namespace),
      operator_image_(std::move(operator_image)) {}

void Controller::run(const std::stop_token& stop, int threads) {
  for (const auto& key : cluster_.jobs()) queue_.add_now(key);
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back([this, &stop] { run_worker(stop); });
  run_worker(stop);
}

void Controller::run_worker(const std::stop_token& stop) {
  while (const auto key = queue_.take(stop)) {
    reconcile_job(*key);
    queue_.done(*key);
  }
}

Controller::JobMemory& Controller::job_memory_of(const JobKey& key) {
  const MutexLock lock(mutex_);
  return memories_[key];
}

bool Controller::step() {
  const auto key = queue_.take_due();
  if (!key) return false;
  reconcile_job(*key);
  queue_.done(*key);
  return true;
}

void Controller::reconcile_job(const JobKey& key) {
  const auto view = cluster_.view(key);
  if (!view) {
    const bool is_broken = report_unreadable(key);
    registry_.close(key);
    if (!is_broken) metrics_.forget(key);  // else its counters keep their values
    const MutexLock lock(mutex_);
    memories_.erase(key);
    return;
  }
  const Timestamp began = clock_.now();
  JobMemory& memory = job_memory_of(key);
  if (memory.uid != view->job.meta.uid) {
    if (!memory.uid.empty()) registry_.close(key);  // of an earlier job of this name
    memory = {.uid = view->job.meta.uid};
  }
  note_gone_pods(*view, memory);
  if (!memory.disrupted_since) memory.disrupted_since = queue_.disrupted_since(key);
  api::TrainingJob job = view->job;
  restore_pod_placement(memory.roster, job.status.members);
  core::Observation seen{.job = std::move(job),
                         .pods = view->pods,
                         .processes = registry_.processes(key),
                         .world = registry_.world(key),
                         .nodes = view->nodes,
                         .wall_now = clock_.wall_now(),
                         .recovery = memory.recovery,
                         .checkpoint_lists_valid_from = memory.checkpoint_lists_valid_from,
                         .pod_uids_with_grace = memory.pod_uids_with_grace,
                         .listening_since = registry_.listening_since(key),
                         .refusal = memory.refusal,
                         .unusable_pod_names = memory.unusable_pod_names,
                         .is_template_refused = memory.is_template_refused,
                         .operator_image = operator_image_,
                         .notice_rules = &notice_rules_};
  if (core::needs_volume_claim(seen)) {
    if (const auto looked = read_volume_claim(view->job, memory); !looked) {
      log_failure(key, looked.error());
      if (!is_refused_call(looked.error())) {
        metrics_.note_retry();
        queue_.add(key, next_retry_time(key, memory));
        return;
      }
    }
    seen.volume_claim = memory.claim;
  } else {
    memory.claim.reset();
    memory.claim_read_count = 0;
  }
  erase_processes_of_other_jobs(seen);
  const core::Decision decision = core::reconcile(seen, began);
  metrics_.note_decision_seconds(seconds(clock_.now() - began));
  const auto done = apply_decision(*view, decision, memory);
  if (!done) log_failure(key, done.error());
  note_outcome(decision, done, memory);
  if (!memory.refusal.empty()) memory.seen_pod_uids = uids_of_pods(*view);
  queue_.add(key, next_decision_time(key, decision, done, memory));
}

// A job that was deleted and made again has the name of the deleted job, so that processes of the deleted
// job's pods reach the new job until these pods end. Their steps and checkpoints are not those of the new
// job.
void Controller::erase_processes_of_other_jobs(core::Observation& seen) {
  std::set<std::string_view> uids;
  for (const auto& pod : seen.pods) uids.insert(pod.uid);
  for (const auto& member : seen.job.status.members) uids.insert({member.uid, member.successor_uid});
  std::erase_if(seen.processes, [&](const api::ProcessFacts& process) {
    const std::string& uid = process.identity.member_uid;
    return !uid.empty() && !uids.contains(uid);
  });
}

// When a pod of the job is gone, a resource quota that was used up before may have room for a new pod. The
// server updates quotas with a delay, so begin the retries again with the shortest pause.
void Controller::note_gone_pods(const JobView& view, JobMemory& memory) {
  if (!std::ranges::includes(uids_of_pods(view), std::exchange(memory.seen_pod_uids, {}))) {
    memory.refusals_in_a_row = 0;
    memory.next_pod_request_at = Timestamp();
  }
}

// Measures how long the operator took to react to a disruption. If a disruption causes no action, the time is
// not measured.
void Controller::note_outcome(const core::Decision& decision, const Result<void>& done, JobMemory& memory) {
  if (!done) return metrics_.note_retry();
  if (memory.disrupted_since && !decision.actions.empty())
    metrics_.note_action_seconds(seconds(clock_.now() - *memory.disrupted_since));
  memory.disrupted_since.reset();
}

Timestamp Controller::next_decision_time(const JobKey& key, const core::Decision& decision,
                                         const Result<void>& done, JobMemory& memory) const {
  const Timestamp now = clock_.now();
  Timestamp next =
      std::min(now + kDecisionIntervalMax, decision.wake_at.value_or(now + kDecisionIntervalMax));
  if (memory.status_due_at) next = std::min(next, *memory.status_due_at);
  if (memory.next_pod_request_at > now) next = std::min(next, memory.next_pod_request_at);
  if (memory.claim && memory.claim_read_due > now) next = std::min(next, memory.claim_read_due);
  if (done) {
    memory.failures_in_a_row = 0;
    return memory.is_turn_cut ? now : next;
  }
  const Timestamp again = next_retry_time(key, memory);
  // The retry pause after a failure must not delay the decision's wake-up time, such as the next check for
  // silence. A wake-up time that has passed does not shorten the retry pause.
  return decision.wake_at && *decision.wake_at > now ? std::min(again, *decision.wake_at) : again;
}

Timestamp Controller::next_retry_time(const JobKey& key, JobMemory& memory) const {
  if (const auto end = cluster_.retry_after_end(key)) return *end;
  return clock_.now() + backoff_after(memory.failures_in_a_row++, kRetryDoublingsMax);
}

// If only one node can mount the volume claim, reads the claim repeatedly with growing pauses, because no
// event reports that a user replaced the claim. If the server does not let the operator read the claim,
// assumes that several nodes can mount the claim.
Result<void> Controller::read_volume_claim(const api::TrainingJob& job, JobMemory& memory) {
  if (memory.claim_job_generation != job.meta.generation) memory.claim_read_count = 0;
  if (memory.claim_read_count > 0 && clock_.now() < memory.claim_read_due) return {};
  auto claim = cluster_.read_volume_claim(job);
  if (!claim && !is_refused_call(claim.error())) return claim.error();
  memory.claim_job_generation = job.meta.generation;
  memory.claim_read_due = clock_.now() + backoff_after(memory.claim_read_count++, kRefusalDoublingsMax);
  memory.claim = claim ? std::move(*claim) : std::nullopt;
  if (!claim) return claim.error();
  return {};
}

// Handles a job that this operator cannot read, because a newer operator wrote it or a user edited it. Leaves
// the job unchanged, so that its members continue to train, and reports the reason in a condition.
bool Controller::report_unreadable(const JobKey& key) {
  for (const auto& broken : cluster_.unreadable_jobs()) {
    if (broken.meta.name_space != key.name_space || broken.meta.name != key.name) continue;
    const std::string name = format_job_key(key);
    logger_.warning("a job cannot be read and is not changed", {{"job", name}, {"error", broken.complaint}});
    api::TrainingJob job;
    job.meta = broken.meta;
    cluster_.emit_event(job, {.is_warning = true, .reason = "InvalidSpec", .message = broken.complaint});
    metrics_.note_unreadable(key);
    const auto told = cluster_.write_invalid_condition(broken);
    if (!told) log_failure(key, told.error());
    // If the server refuses the status, do not send it again until the job changes.
    if (!told && !is_refused_call(told.error())) queue_.add(key, clock_.now() + kDecisionIntervalMax);
    return true;
  }
  return false;
}

Result<void> Controller::apply_decision(const JobView& seen, const core::Decision& decision,
                                        JobMemory& memory) {
  const api::TrainingJob& job = seen.job;
  api::TrainingJob decided = job;
  decided.status = decision.status;
  if (auto stored = store_status(decided, job.status, memory); !stored) return stored;
  memory.recovery = decision.recovery;
  memory.checkpoint_lists_valid_from = decision.announcement.checkpoint_lists_valid_from;
  memory.pod_uids_with_grace = core::uids_deleted_with_grace(decision.actions);
  metrics_.note_status(key_of(job), job.status, decision.status);
  Result<void> all_done;
  bool is_deleting = true;  // after a call without an answer, no further deletion in this turn
  TurnSlice slice(clock_);
  for (const auto& action : decision.actions) {
    const bool is_deletion = std::holds_alternative<core::DeletePod>(action);
    if (is_deletion && (!is_deleting || !slice.begin_action())) continue;
    auto done = apply_action(seen, decided, action);
    if (done) continue;
    is_deleting = is_deleting && !(is_deletion && is_server_unresponsive(done.error()));
    all_done = done;
  }
  // Announce the decision to agents even if a pod cannot be created.
  if (auto done = create_pods(decided, decision, memory, slice); !done) all_done = done;
  memory.is_turn_cut = slice.is_cut();
  registry_.announce(key_of(job), decision.announcement);
  if (api::is_over(decision.status.phase)) registry_.forget_processes(key_of(job));
  return all_done;
}

Result<void> Controller::store_status(const api::TrainingJob& decided, const api::TrainingJobStatus& before,
                                      JobMemory& memory) {
  const Timestamp now = clock_.now();
  const auto debounce =
      status_debounce_for(decided.spec, before, cluster_.status_as_stored(decided), memory.is_turn_cut);
  if (debounce.has_change) {
    if (!memory.status_changed_since) memory.status_changed_since = now;
    memory.status_due_at = status_write_time(debounce, memory.status_stored_at, *memory.status_changed_since);
    memory.roster = decided.status.members;
    if (now < *memory.status_due_at) return {};
    auto written = cluster_.write_status(decided);
    if (!written) return written;
    memory.status_stored_at = now;
  }
  memory.status_changed_since.reset();
  memory.status_due_at.reset();
  memory.roster.clear();
  return {};
}

Result<void> Controller::apply_action(const JobView& seen, const api::TrainingJob& job,
                                      const core::Action& action) {
  if (std::holds_alternative<core::CreatePod>(action)) return {};  // create_pods
  if (const auto* remove = std::get_if<core::DeletePod>(&action)) return cluster_.delete_pod(seen, *remove);
  if (const auto* end = std::get_if<core::DeleteJob>(&action)) return cluster_.delete_job(job, *end);
  const auto& event = std::get<core::EmitEvent>(action);
  const std::string name = format_job_key(key_of(job));
  logger_.log(event.is_warning ? LogLevel::kWarning : LogLevel::kInfo, event.message,
              {{"job", name}, {"reason", event.reason}});
  cluster_.emit_event(job, event);
  return {};
}

// Creates pods. If the server refuses a pod, skips the other pods of the same role, which come from the same
// template, and creates pods of other roles. After a call that got no reply from the server, creates no
// further pod in this turn.
Result<void> Controller::create_pods(const api::TrainingJob& job, const core::Decision& decision,
                                     JobMemory& memory, TurnSlice& slice) {
  const auto is_creation = [](const auto& action) { return std::holds_alternative<core::CreatePod>(action); };
  const bool has_creation = std::ranges::any_of(decision.actions, is_creation);
  if (has_creation && clock_.now() < memory.next_pod_request_at) return {};
  const auto admission = has_creation ? admit(job) : ProcessLimit::Admission();
  if (!admission) {
    // No call failed: the job waits for room in the namespace, until memory.next_pod_request_at.
    note_refusal(admission.error().message(), false, memory);
    return {};
  }
  Result<void> all_done;
  std::string refusal;
  bool is_template_refused = false;
  std::set<std::string> refused_roles;
  for (const auto& action : decision.actions) {
    const auto* create = std::get_if<core::CreatePod>(&action);
    if (create == nullptr || refused_roles.contains(create->pod.role)) continue;
    if (!slice.begin_action()) break;
    auto created = create_pod(job, *create, memory);
    if (created) continue;
    if (is_refused_call(created.error())) {
      // If pods of several roles are refused, report the refusal of a template, because only a user can
      // correct a template.
      if (!is_template_refused) refusal = created.error().message();
      is_template_refused |= created.error().kind() == ErrorKind::kInvalid;
      refused_roles.insert(create->pod.role);
    }
    all_done = created;
    if (is_server_unresponsive(created.error()) && !is_pod_name_held(memory, create->pod.name)) break;
  }
  if (slice.is_cut() && refusal.empty()) return all_done;  // the next turn may be refused the other pods
  note_refusal(std::move(refusal), is_template_refused, memory);
  return all_done;
}

void Controller::note_refusal(std::string refusal, bool is_template_refused, JobMemory& memory) const {
  memory.refusal = std::move(refusal);
  memory.is_template_refused = is_template_refused;
  if (memory.refusal.empty()) {
    memory.refusals_in_a_row = 0;
    return;
  }
  memory.next_pod_request_at = clock_.now() + backoff_after(memory.refusals_in_a_row++, kRefusalDoublingsMax);
}

// Returns kNoSpace if this job would bring its namespace over the limit of processes.
Result<ProcessLimit::Admission> Controller::admit(const api::TrainingJob& job) {
  const std::uint64_t processes = job.status.members.size() * std::uint64_t{job.spec.processes_per_node};
  const std::string& name_space = job.meta.name_space;
  auto admission =
      process_limit_.admit(key_of(job), processes, [&] { return cluster_.processes_in_use(name_space); });
  if (!admission) {
    cluster_.emit_event(job,
                        {.is_warning = true, .reason = "PodRefused", .message = admission.error().message()});
  }
  return admission;
}

bool Controller::is_pod_name_held(const JobMemory& memory, const std::string& pod) {
  return std::ranges::find(memory.unusable_pod_names, pod) != memory.unusable_pod_names.end();
}

Result<void> Controller::create_pod(const api::TrainingJob& job, const core::CreatePod& action,
                                    JobMemory& memory) {
  auto created = cluster_.create_pod(job, action);
  if (created) {
    if (*created == CreateOutcome::kNameIsHeld) {
      const std::string& name = action.pod.name;
      if (is_pod_name_held(memory, name))
        return Error(ErrorKind::kUnavailable,
                     "another pod has the name " + name +
                         ", and the member's next incarnation number is not stored yet");
      logger_.info("another pod has this name, so the member gets another name",
                   {{"job", format_job_key(key_of(job))}, {"pod", name}});
      memory.unusable_pod_names.push_back(name);
    }
    queue_.add_now(key_of(job));  // to note the pod's UID, or to choose another name
  } else if (is_refused_call(created.error())) {
    cluster_.emit_event(job,
                        {.is_warning = true, .reason = "PodRefused", .message = created.error().message()});
  }
  return created ? Result<void>() : created.error();
}

void Controller::log_failure(const JobKey& key, const Error& error) const {
  // A conflict with another writer's change is no failure: the next decision uses the changed object.
  if (error.kind() == ErrorKind::kConflict) return;
  const std::string name = format_job_key(key);
  logger_.warning("a decision could not be carried out; the decision is repeated",
                  {{"job", name}, {"error", error.message()}});
}

}  // namespace ratoon::runtime
