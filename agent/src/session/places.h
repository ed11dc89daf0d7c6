// Places: where the checkpoints of a run are, as its session sees them: the folder where they are saved and
// the stores that get copies. Which one a start resumes from is chosen over all of them.
//
//   Places places(options, meters);                    // throws a Failure
//   auto found = places.inventory();                   // what join() is told
//   places.begin_attempt(assignment, goes_on);
//   auto restored = places.restore(assignment, [&](auto& reader) { return load(reader); });
//
// Thread contract: the trainer's thread, but lost() from any.
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

#include "agent/src/checkpoint/disk/patient_calls.h"
#include "agent/src/checkpoint/load/checkpoint_reader.h"
#include "agent/src/checkpoint/save_work.h"
#include "agent/src/checkpoint/tiers/tiers.h"
#include "agent/src/session/event_log.h"
#include "agent/src/session/mirrors.h"
#include "agent/src/session/ownership.h"
#include "agent/src/session/rollback_plan.h"
#include "base/contract/exit_code.h"

namespace ratoon::session {

// Of an error of a place: whether the same start would fail again.
[[nodiscard]] ExitCode exit_code_of(const Error& error);

class Places {
 public:
  // Throws a Failure: a place that is named and cannot be used is no reason to train without it.
  Places(const Options& options, std::shared_ptr<metrics::Meters> meters);
  ~Places();
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // For a saver, which watches its own calls. Who lists and loads here would hang with the disk, and sees it
  // with a deadline for each call.
  [[nodiscard]] const std::shared_ptr<checkpoint::Disk>& home() const { return home_; }
  // The same where it is a folder, in which files grow; else null. With deadlines: for who trains.
  [[nodiscard]] std::shared_ptr<checkpoint::Disk> folder() const {
    return tiers_.home().store ? nullptr : tiers_.home().disk;
  }
  [[nodiscard]] checkpoint::SaverOptions saver_options() const;
  // For what else may hang with a disk.
  [[nodiscard]] const std::shared_ptr<checkpoint::PatientCalls>& calls() const { return calls_; }

  // For a run that is alone, before anything else: no other job is at work here. Throws a Failure.
  // `goes_on` is asked while another job is watched that may be gone; false: Interrupted is thrown.
  void own(const std::function<bool()>& goes_on);
  // The same for each process of a world that a coordinator forms, which then joins it.
  void enter(const std::function<bool()>& goes_on);
  // For rank 0 of a run without coordinator that is not to resume (--autoresume false): why this start must
  // not begin, since the run has checkpoints, and they are not of this very launch. Throws a Failure.
  [[nodiscard]] std::optional<std::string> find_refusal();
  // What there is of the run goes aside (--overwrite). Throws a Failure.
  void begin_anew();
  // The same of a job, in its first attempt that has nothing to resume: what older attempts left.
  void begin_anew(Attempt first);

  // Of all places together: what is good anywhere is complete.
  [[nodiscard]] Result<checkpoint::Inventory> inventory() const;
  // The same for who joins: what may be resumed from, as --resume-from has it. Throws a Failure where that
  // cannot be done.
  [[nodiscard]] Result<checkpoint::Inventory> look();
  // kCorrupted: one of the places had checkpoints, and what says which is gone.
  [[nodiscard]] Result<void> check_that_none_were_lost() const;
  // As it was decided when this process looked last.
  [[nodiscard]] const RollbackPlan& rollback() const { return rollback_; }
  // Of rank 0: these are recorded everywhere, the newest first, and what they gave up is set aside.
  [[nodiscard]] Result<void> keep_rollbacks(const std::vector<checkpoint::Rollback>& in_force);

  // Rank 0 owns the places from now on and copies what is committed. `goes_on` ends a wait for another job's
  // claim. Throws a Failure, or Interrupted.
  void begin_attempt(const Assignment& assignment, const std::function<bool()>& goes_on);
  // What the saver does in that attempt.
  [[nodiscard]] checkpoint::SavingWorld saving_world(const Assignment& assignment) const;

  using Load = std::function<Result<void>(checkpoint::CheckpointReader&)>;
  // What the assignment resumes, from the first copy that is sound; which tier that was. A bad one before it
  // is set aside with the reason. An error is that of all copies: kUnavailable and the like where one could
  // not be asked.
  [[nodiscard]] Result<std::string> restore(const Assignment& assignment, const Load& load);
  // Where all copies of it were bad: those whose bytes are wrong go to quarantine.
  void set_aside(const checkpoint::CheckpointId& id, const std::string& reason) const;

  // Sentences since the last call, and why this process must not write any more.
  void move_events_to(std::vector<std::string>& events) { events_->move_to(events); }
  [[nodiscard]] std::optional<std::string> lost() const { return ownership_->lost(); }

  // A sentence for each store that does not have the newest commit of this process within that time.
  // `goes_on` is asked now and then and may end it; null: nothing does.
  [[nodiscard]] std::vector<std::string> wait_for_copies(Duration at_most,
                                                         const std::function<bool()>& goes_on = {}) const {
    return mirrors_->wait_for_newest(at_most, goes_on);
  }

 private:
  void set_lineage_aside(std::optional<Attempt> before);
  void take_ownership(const std::function<bool()>& goes_on);
  using Take = Result<void> (Ownership::*)(const Clock&, const checkpoint::Claim::Pause&);
  void own_by(Take take, const std::function<bool()>& goes_on);
  void tell_of_strangers();

  const Options& options_;
  std::stop_source stop_;  // ends what waits for a store
  std::shared_ptr<checkpoint::PatientCalls> calls_;
  std::shared_ptr<checkpoint::PatientCalls> leaving_calls_;  // in more of a hurry
  std::shared_ptr<checkpoint::Disk> home_;
  checkpoint::Tiers tiers_;
  std::string identity_;  // of the job; see identity.h
  checkpoint::Owner owner_;
  std::shared_ptr<EventLog> events_ = std::make_shared<EventLog>();
  // Shared with threads that may be left behind.
  std::shared_ptr<Mirrors> mirrors_;
  std::shared_ptr<Ownership> ownership_;
  RollbackPlan rollback_;
  std::set<std::string> strangers_;  // seen in any place
  bool has_told_of_strangers_ = false;
  std::set<std::pair<checkpoint::CheckpointId, std::size_t>> bad_;  // copies whose bytes were found wrong
};

}  // namespace ratoon::session
