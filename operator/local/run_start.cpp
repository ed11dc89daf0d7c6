#include "operator/local/run_start.h"

#include <algorithm>

#include "operator/core/status/ledger.h"
#include "operator/local/folder/save_location.h"
#include "operator/local/folder/staging_folder.h"

namespace ratoon::local {
namespace {

// Takes the next attempt number, because checkpoints of the last attempt may be on the disk. Clears the
// fields of the last world, which ended together with the last `ratoon run`: otherwise its members would
// count as silent.
void begin_next_attempt(api::TrainingJobStatus& status) {
  status.attempt = status.attempt.next();
  status.is_world_formed = false;
  status.world_size = 0;
  status.world_formed_at.reset();
  status.last_step_at.reset();
  for (auto& member : status.members) member.has_been_in_world = false;
}

// Discards staged checkpoints, because they name their attempt and step but not their run.
Result<void> discard_staged_checkpoints(const RunFolder& folder) {
  return StagingFolder::discard(StagingFolder::kMemoryRoot, folder.path());
}

// Returns whether the job's roles differ from the roles in `document`, for example in an argument that sets
// the end of the training.
bool have_roles_changed(const nlohmann::json& document, const api::TrainingJob& job) {
  const nlohmann::json::json_pointer stored("/job/spec/roles");
  const nlohmann::json::json_pointer given("/spec/roles");
  return job.document && job.document->contains(given) && document.contains(stored) &&
         document[stored] != (*job.document)[given];
}

// Refuses another run name in the folder of a run that has checkpoints: the stored status names the newest
// checkpoint of the first run, and no process of the second run would find it.
Result<void> check_run_name(const RunFolder& folder, const nlohmann::json& document,
                            const api::TrainingJob& job) {
  if (!document.is_object() || !document.contains("job")) return {};
  const auto stored = api::decode_training_job(document["job"]);
  if (!stored || !stored->status.last_checkpoint) return {};
  const std::string before = run_name_of(*stored);
  const std::string given = run_name_of(job);
  if (before == given) return {};
  return Error(ErrorKind::kInvalid, folder.path().string() + " holds the run '" + before +
                                        "', and this command names the run '" + given +
                                        "': pass another --folder, or the run name '" + before + "'");
}

}  // namespace

api::TrainingJobStatus reopen_completed_job(api::TrainingJobStatus status) {
  status.phase = api::JobPhase::kRecovering;
  status.final_weights.clear();
  status.finish_reason.clear();
  for (auto& member : status.members) member.is_completed = false;
  return status;
}

api::TrainingJobStatus recover_status(const api::TrainingJobSpec& spec, api::TrainingJobStatus status) {
  if (status.phase == api::JobPhase::kSucceeded) return status;
  if (status.phase == api::JobPhase::kFailed) {  // the user decided to try again
    auto& restarts = status.restarts;
    restarts = {.application = restarts.application,
                .hung = restarts.hung,
                .ignored = restarts.application + restarts.hung,  // maxRestarts counts from here
                .disruption = restarts.disruption};
    status.active_seconds = 0;
  }
  core::end_useful_time_at_last_step(status);
  status.open_recovery.reset();  // it ended with the runner
  status.active_since.reset();   // the time without a runner does not count
  status.suspending_since.reset();
  status.completed_at.reset();
  status.last_failure.reset();  // else this run's first failure would count as the second of the same fault
  status.phase = status.attempt.value() == 0 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
  status.message.clear();
  if (status.attempt.value() != 0) begin_next_attempt(status);
  for (auto& member : status.members) {
    // Give the member a newer incarnation number, because a process of the last run may not have ended yet.
    const std::uint32_t newest = std::max(member.incarnation, member.successor);
    if (member.is_completed && api::reports_steps(spec)) continue;
    member = {.role = member.role, .index = member.index, .incarnation = newest + 1, .uid = ""};
  }
  return status;
}

api::TrainingJobStatus fresh_status(const api::TrainingJobStatus& status) {
  api::TrainingJobStatus fresh;
  fresh.first_own_attempt = Attempt(0);
  fresh.attempt = status.attempt;
  fresh.phase = status.attempt.value() == 0 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
  if (status.attempt.value() != 0) begin_next_attempt(fresh);
  for (const auto& member : status.members) {
    const std::uint32_t newest = std::max(member.incarnation, member.successor);
    fresh.members.push_back(
        {.role = member.role, .index = member.index, .incarnation = newest + 1, .uid = ""});
  }
  return fresh;
}

Result<RunStart> begin_run(const RunFolder& folder, const api::TrainingJob& job, bool starts_over,
                           WallTime now,
                           const std::function<Result<void>(const api::TrainingJobStatus&)>& store) {
  const auto stored = folder.read_status(job);
  // Return a read error even if the run starts over: without the old status, the new run might repeat attempt
  // numbers of checkpoints that are in stores.
  if (!stored) return stored.error();
  if (starts_over) {
    RunStart fresh{.status = fresh_status(stored->value_or(api::TrainingJobStatus()))};
    const auto before = folder.archive_old_files(now, [&]() -> Result<void> {
      if (auto discarded = discard_staged_checkpoints(folder); !discarded) return discarded;
      return store(fresh.status);
    });
    if (!before) return before.error();
    fresh.archive_message = "the files of earlier runs are in " + before->string();
    return fresh;
  }
  if (!*stored) {
    if (auto discarded = discard_staged_checkpoints(folder); !discarded) return discarded.error();
    return RunStart{.status = job.status};
  }
  RunStart next{.continues_run = true};
  const auto document = RunFolder::read_document(folder.path());
  if (document && *document) next.document = **document;
  if (auto checked = check_run_name(folder, next.document, job); !checked) return checked.error();
  const bool are_other = have_roles_changed(next.document, job);
  const bool is_reopened = (*stored)->phase == api::JobPhase::kSucceeded && are_other;
  next.status = recover_status(job.spec, is_reopened ? reopen_completed_job(**stored) : **stored);
  const auto saves = next.document.is_object() ? next.document.find("saves") : next.document.end();
  if (!are_other && saves != next.document.end() && saves->is_string())
    next.save_location = saves->get<std::string>();
  return next;
}

}  // namespace ratoon::local
