// session/locations/: the folders and stores with the checkpoints of a run, their locks and claims, and the
// choice of the checkpoint to resume.
//
// CheckpointLocations holds the home in which a run saves its checkpoints, and the stores that get copies.
// The checkpoint to resume from is chosen among the checkpoints of the home and of all stores.
//
//   CheckpointLocations places(options, meters);                    // throws a Failure
//   auto found = places.inventory();  // passed to join()
//   places.begin_attempt(assignment, goes_on);
//   auto restored = places.restore(assignment, [&](auto& reader) { return load(reader); });
//
// Thread contract: the training thread; lost() from any thread.
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

// Returns the exit code for an error of a location; the code says whether the same start would fail again.
[[nodiscard]] ExitCode exit_code_of(const Error& error);

class CheckpointLocations {
 public:
  // Throws a Failure if a location that the options name cannot be used.
  CheckpointLocations(const Options& options, std::shared_ptr<metrics::Meters> meters);
  ~CheckpointLocations();
  CheckpointLocations(const CheckpointLocations&) = delete;
  CheckpointLocations& operator=(const CheckpointLocations&) = delete;

  // Returns the home's disk without timeouts, for the saver, which limits the time of its calls itself.
  // Listing and loading use another Disk, whose calls have a timeout, so that they do not hang.
  [[nodiscard]] const std::shared_ptr<checkpoint::Disk>& home() const { return home_; }
  // Returns the run's home if it is a folder, in which files can grow; else null. Each disk call has a
  // timeout, so the training thread may make it.
  [[nodiscard]] std::shared_ptr<checkpoint::Disk> folder() const {
    return tiers_.home().store ? nullptr : tiers_.home().disk;
  }
  [[nodiscard]] checkpoint::SaverOptions saver_options() const;
  // Gives a timeout to other calls that may hang with a disk.
  [[nodiscard]] const std::shared_ptr<checkpoint::CallsWithTimeout>& calls() const { return calls_; }

  // A run without a coordinator calls own() before anything else. When own() returns, no other job uses the
  // run's locations. Throws a Failure. While own() waits for the end of another job, it calls `goes_on`, and
  // throws Interrupted if `goes_on` returns false.
  void own(const std::function<bool()>& goes_on);
  // Does what own() does, for a process with a coordinator, before the process joins a world.
  void enter(const std::function<bool()>& goes_on);
  // For rank 0 of a run that has no coordinator and must not resume (--autoresume false). Returns why this
  // start is refused: the run has checkpoints, and this launch was not accepted before. Returns nullopt if
  // this start may go on. Throws a Failure.
  [[nodiscard]] std::optional<std::string> find_refusal();
  // Moves all checkpoints of the run aside (--overwrite). Throws a Failure.
  void begin_anew();
  // For the job of a coordinator, whose first attempt without a checkpoint to resume is `first`: moves the
  // checkpoints of older attempts aside.
  void begin_anew(Attempt first);

  // Lists the checkpoints of all locations: a checkpoint is complete if one location has a good copy.
  [[nodiscard]] Result<checkpoint::Inventory> inventory() const;
  // Lists, for a process that joins, the checkpoints that may be resumed from, according to --resume-from.
  // Throws a Failure if the step of --resume-from cannot be resumed.
  [[nodiscard]] Result<checkpoint::Inventory> look();
  // Returns kCorrupted if a location had checkpoints, but the manifests that name them are missing.
  [[nodiscard]] Result<void> check_manifests_are_there() const;
  // Returns the rollback that look() planned last.
  [[nodiscard]] const RollbackPlan& rollback() const { return rollback_; }
  // Records the rollbacks in every location, the newest first, and sets aside the checkpoints that they gave
  // up. For rank 0 only.
  [[nodiscard]] Result<void> keep_rollbacks(const std::vector<checkpoint::Rollback>& in_force);

  // From this call on rank 0 owns the locations, and copies committed checkpoints to stores. If `goes_on`
  // returns false, begin_attempt() no longer waits for another job's claim. Throws a Failure, or Interrupted.
  void begin_attempt(const Assignment& assignment, const std::function<bool()>& goes_on);
  // Returns the options of the saver in an attempt.
  [[nodiscard]] checkpoint::SavingWorld saving_world(const Assignment& assignment) const;

  using Load = std::function<Result<void>(checkpoint::CheckpointReader&)>;
  // Loads the checkpoint of the assignment from its first intact copy, and returns the name of that copy's
  // tier. Damaged copies that were tried before the intact copy are set aside with the reason. The error that
  // is returned describes all copies: it is kUnavailable or similar if a copy could not be read.
  [[nodiscard]] Result<std::string> restore(const Assignment& assignment, const Load& load);
  // Call set_aside() if all copies of a checkpoint were damaged. Moves the copies with wrong bytes to
  // quarantine.
  void set_aside(const checkpoint::CheckpointId& id, const std::string& reason) const;

  // Pins the checkpoint in every location. Returns an error of the home; for errors of other locations it
  // only prints a message.
  [[nodiscard]] Result<void> pin(const checkpoint::CheckpointId& id, const std::string& why) {
    return tiers_.pin(id, why, [events = events_](const std::string& event) { events->add(event); });
  }
  // Completes `ticket` once each store has the committed checkpoint, or a newer checkpoint.
  void await_copies(const checkpoint::CheckpointId& id, const checkpoint::SavePromise& ticket) {
    mirrors_->await(id, ticket);
  }

  // Notes that this process waits for a world from now until begin_attempt().
  void begin_waiting();
  // Notes that the whole job ends, at least for a while: the destructor then releases the claims of this
  // object. Without note_job_over() the claims stay for the job's other processes or its next attempt.
  void note_job_over() { is_job_over_ = true; }

  // Moves out the messages since the last call, for example the reason why this process must no longer write.
  void move_events_to(std::vector<std::string>& events) { events_->move_to(events); }
  [[nodiscard]] std::optional<std::string> lost() const { return ownership_->lost(); }

  // Returns a sentence for each store that does not have this process's newest commit within `at_most`.
  // `goes_on` is called regularly and may end the wait; if it is null, the wait is not ended early.
  [[nodiscard]] std::vector<std::string> wait_for_copies(Duration at_most,
                                                         const std::function<bool()>& goes_on = {}) const {
    return mirrors_->wait_for_newest(at_most, goes_on);
  }

 private:
  void set_lineage_aside(std::optional<Attempt> before);
  void take_ownership(const std::function<bool()>& goes_on);
  using Take = Result<void> (OwnershipGuard::*)(const Clock&, const checkpoint::Claim::Pause&);
  void own_by(Take take, const std::function<bool()>& goes_on);
  void report_unknown_entries();

  const Options& options_;
  std::stop_source stop_;  // ends waits for a store
  std::shared_ptr<checkpoint::CallsWithTimeout> calls_;
  std::shared_ptr<checkpoint::CallsWithTimeout> leaving_calls_;  // with a shorter timeout, used while leaving
  std::shared_ptr<checkpoint::Disk> home_;
  checkpoint::Tiers tiers_;
  std::string identity_;  // of the job; see identity.h
  checkpoint::Owner owner_;
  std::shared_ptr<EventLog> events_ = std::make_shared<EventLog>();
  // Shared with threads that may be abandoned.
  std::shared_ptr<Mirrors> mirrors_;
  std::shared_ptr<OwnershipGuard> ownership_;
  RollbackPlan rollback_;
  std::set<std::string> foreign_paths_;  // seen in any place
  bool has_reported_unknown_entries_ = false;
  bool is_job_over_ = false;
  std::set<std::pair<checkpoint::CheckpointId, std::size_t>> bad_;  // copies whose bytes were found wrong
};

}  // namespace ratoon::session
