#include "operator/local/beginning.h"

#include <algorithm>

#include "operator/core/ledger.h"
#include "operator/local/staging_folder.h"

namespace ratoon::local {
namespace {

// Whatever became of the last attempt, what it left on the disk is its own. And no world outlives its runner:
// who held its seat would be silent, and what it did last is long ago.
void begin_next_attempt(api::TrainingJobStatus& status) {
  status.attempt = status.attempt.next();
  status.is_formed = false;
  status.world_size = 0;
  status.formed_at.reset();
  status.stepped_at.reset();
}

// A slot says of which attempt and step it is, not of which run.
Result<void> discard_staged(const RunFolder& folder) {
  return StagingFolder::discard(StagingFolder::kMemoryRoot, folder.path());
}

// Its programs or their arguments: perhaps another end.
bool has_other_roles(const nlohmann::json& document, const api::TrainingJob& job) {
  const nlohmann::json::json_pointer stored("/job/spec/roles");
  const nlohmann::json::json_pointer given("/spec/roles");
  return job.document && job.document->contains(given) && document.contains(stored) &&
         document[stored] != (*job.document)[given];
}

}  // namespace

api::TrainingJobStatus reopen(api::TrainingJobStatus status) {
  status.phase = api::JobPhase::kRecovering;
  status.final_weights.clear();
  for (auto& member : status.members) member.is_completed = false;
  return status;
}

api::TrainingJobStatus recover_status(const api::TrainingJobSpec& spec, api::TrainingJobStatus status) {
  if (status.phase == api::JobPhase::kSucceeded) return status;
  if (status.phase == api::JobPhase::kFailed) {  // a person decided to try again
    status.restarts = {.disruption = status.restarts.disruption};
    status.active_seconds = 0;
  }
  core::end_with_last_step(status);
  status.active_since.reset();  // while no runner was there, nobody worked
  status.suspending_since.reset();
  status.completed_at.reset();
  status.last_failure.reset();  // else this run's first failure would be the second of one fault
  status.phase = status.attempt.value() == 0 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
  status.message.clear();
  if (status.attempt.value() != 0) begin_next_attempt(status);
  for (auto& member : status.members) {
    // A process of the last run may still be on its way out: fence it.
    const std::uint32_t newest = std::max(member.incarnation, member.successor);
    if (member.is_completed && !api::is_group(spec)) continue;
    member = {.role = member.role, .index = member.index, .incarnation = newest + 1, .uid = ""};
  }
  return status;
}

api::TrainingJobStatus fresh_status(const api::TrainingJobStatus& status) {
  api::TrainingJobStatus fresh;
  fresh.lineage_start = Attempt(0);
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

Result<Beginning> begin_run(const RunFolder& folder, const api::TrainingJob& job, bool starts_over,
                            WallTime now,
                            const std::function<Result<void>(const api::TrainingJobStatus&)>& store) {
  const auto stored = folder.read_status(job);
  // Not even for who starts over: attempts must count on from those that are in stores.
  if (!stored) return stored.error();
  if (starts_over) {
    Beginning fresh{.status = fresh_status(stored->value_or(api::TrainingJobStatus()))};
    const auto before = folder.set_aside(now, [&]() -> Result<void> {
      if (auto discarded = discard_staged(folder); !discarded) return discarded;
      return store(fresh.status);
    });
    if (!before) return before.error();
    fresh.set_aside = "what the runs before left is in " + before->string();
    return fresh;
  }
  if (!*stored) {
    if (auto discarded = discard_staged(folder); !discarded) return discarded.error();
    return Beginning{.status = job.status};
  }
  Beginning next{.goes_on = true};
  const auto document = RunFolder::read_document(folder.path());
  if (document && *document) next.document = **document;
  const bool is_reopened =
      (*stored)->phase == api::JobPhase::kSucceeded && has_other_roles(next.document, job);
  next.status = recover_status(job.spec, is_reopened ? reopen(**stored) : **stored);
  return next;
}

}  // namespace ratoon::local
