// session/locations/: the folders and stores with the checkpoints of a run, their locks against other jobs,
// and the choice of the checkpoint to resume from.
//
// CheckpointLocations: the home, which is the folder or store in which a run saves its checkpoints, and the
// stores that get copies. A run resumes from the newest checkpoint in the home and all stores.
//
//   CheckpointLocations places(options, meters);                    // throws a Failure
//   auto found = places.inventory();  // passed to join()
//   places.begin_attempt(assignment, goes_on);
//   auto restored = places.restore(assignment, [&](auto& reader) { return load(reader); });
//
// Thread contract: only the training thread uses the object, but any thread may call find_lost_reason().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/load/checkpoint_reader.h"
#include "agent/src/checkpoint/saver/save_pipeline.h"
#include "agent/src/checkpoint/tiers/tiers.h"
#include "agent/src/session/locations/mirrors.h"
#include "agent/src/session/locations/ownership_guard.h"
#include "agent/src/session/locations/rollback_plan.h"
#include "agent/src/session/telemetry/event_log.h"
#include "base/contract/exit_code.h"

namespace ratoon::session {

// Returns the exit code for an error of a folder or store. The code says whether a restart would fail again.
[[nodiscard]] ExitCode exit_code_of(const Error& error);

class CheckpointLocations {
 public:
  // Throws a Failure if a location that the options name cannot be used.
  CheckpointLocations(const Options& options, std::shared_ptr<metrics::Meters> meters);
  ~CheckpointLocations();
  CheckpointLocations(const CheckpointLocations&) = delete;
  CheckpointLocations& operator=(const CheckpointLocations&) = delete;

  // Returns the home's Disk for the saver. Its calls have no timeout, because the saver has its own timeouts.
  // The functions that list and load checkpoints use another Disk, whose calls have a timeout.
  [[nodiscard]] const std::shared_ptr<checkpoint::Disk>& home() const { return home_; }
  // If the run's home is a folder, returns its Disk, which can append to files. If the home is a store,
  // returns null. The training thread may use this Disk, because its calls have a timeout.
  [[nodiscard]] std::shared_ptr<checkpoint::Disk> folder() const {
    return tiers_.home().store ? nullptr : tiers_.home().disk;
  }
  [[nodiscard]] checkpoint::SaverOptions saver_options() const;
  // Returns the object that runs calls of any disk with a timeout.
  [[nodiscard]] const std::shared_ptr<checkpoint::CallsWithTimeout>& calls() const {
    return calls_with_timeout_;
  }

  // A run without a coordinator calls claim_locations() before all other functions. Waits until no other job
  // uses the run's locations. Throws a Failure. While claim_locations() waits, it calls `goes_on`, and throws
  // Interrupted if `goes_on` returns false.
  void claim_locations(const std::function<bool()>& goes_on);
  // In a process with a coordinator, waits for other jobs like claim_locations(), before the process joins.
  void enter(const std::function<bool()>& goes_on);
  // Rank 0 calls find_resume_refusal() in a run without a coordinator that must not resume
  // (--autoresume=false). Returns the reason if this start is refused because the run has checkpoints and
  // this launch was not accepted before. Returns nullopt if this start is not refused. Throws a Failure.
  [[nodiscard]] std::optional<std::string> find_resume_refusal();
  // Moves all checkpoints of the run to a separate folder (--overwrite). Throws a Failure.
  void move_old_checkpoints_away();
  // Moves the checkpoints of attempts before `first` to a separate folder (--overwrite), for a job with a
  // coordinator.
  void move_old_checkpoints_away(Attempt first);

  // Lists the checkpoints of all locations. A checkpoint is complete if at least one location has an intact
  // copy.
  [[nodiscard]] Result<checkpoint::Inventory> inventory() const;
  // Lists the checkpoints from which the run may resume, according to --resume-from, for the next join().
  // Throws a Failure if the step of --resume-from cannot be resumed.
  [[nodiscard]] Result<checkpoint::Inventory> list_resumable();
  // Returns kCorrupted if a location has no manifests, but files of checkpoints that are newer than all
  // checkpoints in `listed`. Without its manifest, a checkpoint is not listed.
  [[nodiscard]] Result<void> check_manifests_exist(const checkpoint::Inventory& listed) const;
  // Returns the rollback that the last call of list_resumable() planned.
  [[nodiscard]] const RollbackPlan& rollback() const { return rollback_plan_; }
  // Rank 0 records the rollbacks in every location, the newest first, and sets aside the checkpoints of the
  // discarded steps. Changes nothing if another job has used a location since this attempt began.
  [[nodiscard]] Result<void> record_rollbacks(const std::vector<checkpoint::Rollback>& in_force);

  // Begins an attempt: rank 0 claims the locations for this attempt, and copies committed checkpoints to the
  // stores. begin_attempt() may wait for the claim of another job. The wait ends if `goes_on` returns false.
  // Throws a Failure or Interrupted.
  void begin_attempt(const Assignment& assignment, const std::function<bool()>& goes_on);
  // Returns the options with which the saver writes checkpoints in an attempt.
  [[nodiscard]] checkpoint::SaveContext save_context(const Assignment& assignment) const;

  using Load = std::function<Result<void>(checkpoint::CheckpointReader&)>;
  // Loads the assigned checkpoint from its first intact copy, and returns the name of the tier (folder or
  // store) of this copy. Damaged copies that were found before it are moved to quarantine. If no copy is
  // intact, returns the error of one copy. restore() prefers an error of a temporary kind, such as
  // kUnavailable.
  [[nodiscard]] Result<std::string> restore(const Assignment& assignment, const Load& load);
  // Returns whether the last successful restore() read from the location to which this run saves.
  [[nodiscard]] bool has_restored_from_home() const { return has_restored_from_home_; }
  // Moves the copies of a checkpoint to quarantine, after all copies were found to be damaged.
  void quarantine_checkpoint(const checkpoint::CheckpointId& id, const std::string& reason) const;

  // Pins the checkpoint in every location. Returns an error only if the pin fails in the home (the main
  // location). For an error of a store that has a copy, pin() only prints a message.
  [[nodiscard]] Result<void> pin(const checkpoint::CheckpointId& id, const std::string& why) {
    return tiers_.pin(id, why, [events = events_](const std::string& event) { events->add(event); });
  }
  // Removes the pins of all checkpoints of this step in every location.
  [[nodiscard]] Result<void> unpin_step(Step step) const { return tiers_.unpin_step(step); }
  // Returns whether a store of this run has the committed checkpoint.
  [[nodiscard]] Result<bool> is_in_store(const checkpoint::CheckpointId& id) const {
    const auto found = mirrors_->find(id);
    return found ? Result<bool>(found->has_value()) : found.error();
  }
  // Completes `ticket` when each store has this checkpoint or a newer one.
  void complete_after_copies(const checkpoint::CheckpointId& id, const checkpoint::SavePromise& ticket) {
    mirrors_->await(id, ticket);
  }

  // Records that this process waits for other ranks, from now until begin_attempt().
  void begin_waiting();
  // Records that the whole job ends, so that the destructor releases this process's claims on the locations.
  // Without note_job_over(), the claims remain for the job's other processes and its next attempt.
  void note_job_over() { is_job_over_ = true; }
  // Gives the claims back if the job is over. Only for a process that then ends without destructors: a save
  // that is still being written may no longer be committed.
  void give_claims_back() {
    if (!is_job_over_) return;
    end_copies();
    static_cast<void>((*shutdown_calls_)("letting places go", [ownership = ownership_]() -> Result<void> {
      ownership->release();
      return {};
    }));
  }

  // Appends the messages since the last call to `events`, for example why this process must no longer write.
  void move_events_to(std::vector<std::string>& events) { events_->move_to(events); }
  [[nodiscard]] std::optional<std::string> find_lost_reason() const { return ownership_->find_lost_reason(); }

  // Waits at most `at_most` until the stores have the newest checkpoint, and returns a sentence for each
  // store that lacks it. The wait ends early when the function `goes_on`, if given, returns false.
  [[nodiscard]] std::vector<std::string> wait_for_copies(Duration at_most,
                                                         const std::function<bool()>& goes_on = {}) const {
    return mirrors_->wait_for_newest(at_most, goes_on);
  }

 private:
  void end_copies() {
    static_cast<void>((*shutdown_calls_)("ending copies", [mirrors = mirrors_]() -> Result<void> {
      mirrors->stop();
      return {};
    }));
  }
  void set_lineage_aside(std::optional<Attempt> before);
  using Take = Result<void> (OwnershipGuard::*)(const Clock&, const checkpoint::Claim::PauseFunction&);
  void claim_locations_with(Take take, const std::function<bool()>& goes_on);
  void report_unknown_entries();

  const Options& options_;
  std::stop_source stop_;  // ends waits for a store
  std::shared_ptr<checkpoint::CallsWithTimeout> calls_with_timeout_;
  std::shared_ptr<checkpoint::CallsWithTimeout>
      shutdown_calls_;  // with a shorter timeout, used while leaving
  std::shared_ptr<checkpoint::Disk> home_;
  checkpoint::Tiers tiers_;
  std::string identity_;  // of the job; see identity.h
  checkpoint::Owner owner_;
  std::shared_ptr<EventLog> events_ = std::make_shared<EventLog>();
  // ownership_ and mirrors_ are shared pointers, because abandoned disk calls may still use the two objects.
  std::shared_ptr<OwnershipGuard> ownership_;
  std::shared_ptr<Mirrors> mirrors_;
  RollbackPlan rollback_plan_;
  std::set<std::string> foreign_paths_;  // seen in any place
  bool has_reported_unknown_entries_ = false;
  bool is_job_over_ = false;
  bool has_restored_from_home_ = false;
  std::set<std::pair<checkpoint::CheckpointId, std::size_t>>
      damaged_copies_;  // copies whose bytes were found wrong
};

}  // namespace ratoon::session
