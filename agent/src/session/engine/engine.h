// session/engine/: the implementation of Session for one attempt (one call of the training function), and the
// rules for the end of a step.
//
// Engine: implements Session for one attempt. The engine restores the state, counts steps, saves, and checks
// after every step whether the set of processes has changed.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/failure.h>
#include <ratoon/options.h>
#include <ratoon/session.h>
#include <ratoon/stream.h>

#include "agent/src/checkpoint/saver/saver.h"
#include "agent/src/data/loader/wait_listener.h"
#include "agent/src/metrics/meters.h"
#include "agent/src/preemption/save_interval.h"
#include "agent/src/session/engine/attempt_over.h"
#include "agent/src/session/engine/numerics_watch.h"
#include "agent/src/session/engine/phase_watch.h"
#include "agent/src/session/engine/program_requests.h"
#include "agent/src/session/engine/run_schedule.h"
#include "agent/src/session/link/link.h"
#include "agent/src/session/locations/checkpoint_locations.h"
#include "agent/src/session/options/location_options.h"
#include "agent/src/session/shutdown/drain.h"
#include "agent/src/session/state/best_checkpoints.h"
#include "agent/src/session/state/start_snapshot.h"
#include "agent/src/session/state/tracked_objects.h"
#include "agent/src/session/telemetry/rank_means.h"
#include "agent/src/session/telemetry/reporting.h"
#include "agent/src/session/telemetry/time_accounts.h"
#include "agent/src/session/tracked/fixed_shapes.h"
#include "base/core/clock.h"

namespace ratoon {

// CheckpointUnreadable: the exception of a rank that cannot read the checkpoint from which all ranks resume,
// because the checkpoint is damaged or missing. CheckpointUnreadable ends the attempt in the same way as a
// change of the set of processes. The next attempt resumes from a checkpoint that is older than the
// unreadable one.
class CheckpointUnreadable : public AttemptOver {
 public:
  CheckpointUnreadable(Attempt of_attempt, const checkpoint::CheckpointId& which, ErrorKind of_load,
                       const std::string& why)
      : AttemptOver(of_attempt, why), id(which), kind(of_load) {}
  checkpoint::CheckpointId id;
  ErrorKind kind;  // kCorrupted: its bytes are there and wrong
};

class Session::Engine : private data::WaitListener {
 public:
  // Dependencies: the objects that outlive an attempt.
  struct Dependencies {
    const Options& options;
    session::CheckpointLocations& places;
    checkpoint::Saver& saver;
    session::Link& link;
    const Clock& clock;
    metrics::Meters& meters;
    std::shared_ptr<checkpoint::Disk> history_disk{};   // the run's folder; null: there is no history
    std::shared_ptr<session::TimeAccounts> accounts{};  // null: they cover this attempt alone
    std::shared_ptr<session::Drain> drain = std::make_shared<session::Drain>();
    std::shared_ptr<session::NumericsWatch> numerics{};        // null: numerics are not watched
    std::shared_ptr<session::StartSnapshot> start_snapshot{};  // null: this process has one attempt
  };
  Engine(const Dependencies& dependencies, Assignment assignment);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void track(std::string name, session::TrackedObjects::Save save, session::TrackedObjects::Load load,
             session::ObjectKind kind = session::ObjectKind::kState);
  // Adds a tracked stream, to which the option --skip applies.
  void note_stream(Stream& stream) { streams_.push_back(&stream); }
  void follow(std::function<session::DataPosition()> data) { data_ = std::move(data); }
  using EpochHook = std::function<void(std::uint64_t epoch)>;
  void on_epoch_begin(EpochHook act);
  void on_epoch_end(EpochHook act);
  // Loads one object from the checkpoint before begin() restores all objects. Returns false if the run does
  // not resume from a checkpoint.
  [[nodiscard]] bool peek(const std::string& name, std::function<void(StateReader&)> load);
  void begin(Until until);
  void report(std::string_view name, double value, std::uint64_t samples);
  [[nodiscard]] session::RankMeans::Numbers numbers() const { return rank_means_.numbers(); }
  void before_saves(std::function<void()> check) { before_saves_.push_back(std::move(check)); }
  void before_saves_of_all(std::function<void()> check) { before_saves_of_all_.push_back(std::move(check)); }
  void take_sums(std::span<const float, session::RankMeans::kNumbers> sums_of_all);
  // Prints the last log lines and the last progress bar of an attempt. The progress bar stays visible, and
  // later output begins on the next line.
  void end_reporting();
  // Ends the reporting while an exception is handled, and throws the exception again. If the program itself
  // threw an Interrupted although the set of processes is unchanged, throws a Failure instead.
  [[noreturn]] void end_with_exception();
  void end_step();
  // The header program_requests.h describes in which step finish_early() and save requests take effect.
  void finish_early(const std::string& reason);
  [[nodiscard]] SaveTicket ask_to_save(const std::string& keep);
  void unpin(std::uint64_t step);
  // Throws if the program must not call save_best() at present. All ranks call check_save_best().
  void check_save_best(std::string_view name, const KeepBest& how);
  // Returns whether `value` is among the best values. Only rank 0 calls note_best().
  [[nodiscard]] bool note_best(std::string_view name, double value, const KeepBest& how) {
    return best_checkpoints_.note_value(name, value, how,
                                        [this](const auto& id) { return is_checkpoint_missing(id); });
  }
  void save_this_step() { is_save_due_ = true; }
  // Any thread may call notify(), which announces the end of this process.
  void notify(Duration left, const std::string& why) { drain_->notify(clock_.now(), left, why); }
  void take_back_notice() { drain_->take_back_notice(); }
  // Begins a phase within a step. Does nothing before the loop over steps, because all time before it counts
  // as restart time.
  void enter_phase_within_step(ProcessPhase phase);
  // Handles Session::complete(), with which a program without train() reports the end of its loop. Saves the
  // state at the run's end now, because the tracked objects still exist. Throws if the run has not reached
  // its end. After this save, throws if the process was asked to end.
  void end_in_place();
  void still_alive() { enter_phase_within_step(position_.phase); }
  // Returns whether the training function may return, because the run is at its end.
  [[nodiscard]] bool is_done() const { return schedule_ && schedule_->is_over(); }
  // Returns whether the run's last step has ended; false during on_epoch_end() of that step.
  [[nodiscard]] bool is_past_end() const { return is_done() && !is_ending_step_; }
  // Handles a return of the training function before the run's end. If a lost rank or a notice explains the
  // return, throws this reason, else an error of the program.
  [[noreturn]] void refuse_early_return();
  // Returns the exception that explains why the run is not complete: a lost rank, a notice to end, or an
  // error of the program. `waits` says whether to wait until the coordinator reports a reason.
  [[nodiscard]] std::exception_ptr explain_incomplete_run(const std::string& ended_by,
                                                          const std::string& how_to_end, bool waits);
  // If a lost rank or a notice to end explains why the program's loop ended with an exception, throws this
  // reason. Returns normally if neither a lost rank nor a notice explains the exception.
  void leave_if_explained(const std::string& ended_by) {
    static_cast<void>(wait_for_change_report(ended_by));
  }
  // Completes the run after the training function has returned at the run's end. Returns when the checkpoint
  // of the last step is committed.
  void finish();
  // Carries out the requests of unpin() that the program made after the last save. Call
  // unpin_for_late_requests() after finish(), when the stores have their last copies.
  void unpin_for_late_requests();
  // Throws if the process was asked to end. Call leave_if_asked_to_end() during the work after finish(), such
  // as the wait for copies to stores. A later start of the run does the remaining work.
  void leave_if_asked_to_end();

  [[nodiscard]] Rendezvous rendezvous() const;
  void check() const;  // from any thread
  [[nodiscard]] std::uint32_t requests() const;
  void agree(std::uint32_t requests_of_all) {
    agreed_requests_ |= requests_of_all;
    has_agreed_ = has_ever_agreed_ = true;
  }

  [[nodiscard]] const Assignment& assignment() const { return assignment_; }
  [[nodiscard]] Step step() const { return position_.step; }
  [[nodiscard]] std::uint32_t local_rank() const {
    return options_.group.size > 1 ? options_.group.local_rank : options_.member.local_rank;
  }
  [[nodiscard]] std::uint32_t local_size() const {
    return options_.group.size > 1 ? options_.group.local_size : options_.member.processes_per_node;
  }
  [[nodiscard]] const std::shared_ptr<checkpoint::CallsWithTimeout>& calls() const {
    return locations_.calls();
  }
  [[nodiscard]] std::string folder() const {
    return session::is_home_in_store(options_) ? "" : session::run_folder(options_).string();
  }
  [[nodiscard]] std::uint64_t first_seed_of(std::string_view name) const;
  [[nodiscard]] std::uint64_t seed() const { return options_.seed.value_or(0); }
  [[nodiscard]] StreamOptions stream_options(StreamOptions of_program) const;
  [[nodiscard]] std::uint64_t seed_of(std::string_view name) const;
  [[nodiscard]] bool has_schedule() const { return schedule_.has_value(); }
  [[nodiscard]] bool is_at_end() const { return !schedule_ || schedule_->is_over(); }
  [[nodiscard]] const session::ProcessReport& position() const { return position_; }

 private:
  // A DataLoader calls begin_wait() when the training thread begins to wait for a batch.
  void begin_wait() override;
  void end_wait() override { enter_phase_within_step(phase_before_wait_); }
  void on_failure(std::exception_ptr failure) override { data_wait_error_ = std::move(failure); }
  void restore();
  // `name` is the checkpoint's name in messages. Returns the name of the tier (local folder or store) from
  // which the checkpoint was read. Throws a Failure.
  using ReadCheckpoint =
      std::function<Result<void>(checkpoint::CheckpointReader& reader, const std::string& name)>;
  std::string read_checkpoint(const ReadCheckpoint& read);
  [[nodiscard]] Result<std::string> restore_when_listed(const std::string& name,
                                                        const session::CheckpointLocations::Load& load);
  // Waits for `time`, or until the attempt ends.
  void pause_in_load(Duration time);
  // The engine calls skip_excluded_samples() after restore(). Moves the tracked streams past the samples that
  // the user's rollbacks exclude. Before moving the streams, records the rollback of this attempt.
  void skip_excluded_samples();
  void record_rollbacks();
  [[nodiscard]] Stream& stream_to_skip_in() const;
  // Begins a run that has no checkpoint to resume from.
  void begin_new_run();
  void check_no_checkpoints_left() const;
  // If the results may differ in bits from those of the restored run, reports why.
  void report_numerics_changes();
  // Allocates memory for the first save in advance.
  void prepare_saves();
  void count_replay();
  // Writes the file of final weights; called on rank 0 at the run's end. An error of the weights file does
  // not fail the run, because the checkpoint also has the weights.
  void write_final_weights_file();
  // If save() or save_best() requested a pin after the last save, pins the last checkpoint.
  void pin_for_late_requests();
  void show_progress();
  void show_means(const std::vector<session::RankMeans::Mean>& means);
  void check_followed_stream(std::uint64_t samples_before) const;
  void begin_schedule(Until until);
  // Throws if the run counts no epochs, so that the functions of on_epoch_begin() and on_epoch_end() would
  // never be called.
  void check_epochs_are_counted() const;
  // Calls the function of on_epoch_begin() if the step that begins is the first one of an epoch.
  void begin_epoch();
  // Calls on_epoch_end() for the epochs that ended in the last step, which began at `samples_before`.
  void end_epochs(std::uint64_t samples_before);
  // If an earlier start of the run ended with finish(), the run ends at the same step again. If the user has
  // set another end of the run after the call of finish(), the run continues.
  void reapply_early_end();
  // Prints a sentence without breaking the line of the progress bar.
  void say(const std::string& sentence) const;
  void begin_reporting();
  void continue_run_ledger();
  [[nodiscard]] bool is_rank_0() const { return assignment_.rank.value() == 0; }
  [[nodiscard]] session::DataPosition data() const { return data_ ? data_() : session::DataPosition(); }
  void save(std::uint32_t agreed = 0);
  // Returns the run's record, which contains for example the time accounts of the run. The record becomes a
  // part of the receipt, the file with which this rank confirms its part of a save. The checkpoint's manifest
  // contains the run's record from rank 0.
  [[nodiscard]] std::optional<checkpoint::RunRecord> run_record(std::uint32_t agreed);
  [[nodiscard]] checkpoint::EarlyEnd early_end(const std::string& reason) const;
  [[noreturn]] void refuse_early_end(const std::string& ended_by, const std::string& how_to_end);
  // After the program left its loop, waits for a report of the reason, such as a lost rank, and throws the
  // reason. If no report arrives, returns the time at which a wait for a save in progress must end.
  Timestamp wait_for_change_report(const std::string& ended_by);
  [[nodiscard]] std::exception_ptr classify_interruption(const Interrupted& thrown);
  [[nodiscard]] bool ends_at_known_step() const;
  // Throws the error for a step that a program without train() made after the run's end.
  [[noreturn]] void refuse_step_after_end();
  // Returns a text such as "at step 149 of 1000". describe_saved() says which steps are saved.
  [[nodiscard]] std::string describe_position() const;
  [[nodiscard]] std::string describe_saved() const;
  // Waits until the save in progress is committed, but at most until the time `give_up`. Returns the text of
  // describe_saved(), which says which steps are saved.
  [[nodiscard]] std::string wait_and_describe_saved(Timestamp give_up);
  void note_commit(Step step, Duration ago);
  // Returns whether a save is in progress, for example the save before a replacement process takes over.
  // While a save is in progress, another requested save must wait.
  [[nodiscard]] bool is_save_under_way() const;
  void note_saves_under_way();
  // Reports the newest checkpoint as durable, unless an attempt to read it has failed.
  void update_durable(const checkpoint::SaveProgress& progress);
  void show_durable();
  // Asks the saver which saves are committed and which failed. Throws a Failure if too many saves in a row
  // have failed.
  checkpoint::SaveProgress poll_saves();
  // Waits until every save is committed, even if the set of processes changes. Returns false if the time
  // `at_most` has passed, or if the newest save failed.
  [[nodiscard]] bool wait_for_commits_in_any_world(Duration at_most);
  // Waits until the last checkpoint of the run is committed. Throws like check(), and also if the process was
  // asked to end, or if no file of the checkpoint has changed for longer than last_commit_timeout().
  [[nodiscard]] bool wait_for_last_commit();
  using OnSaveProgress = std::function<void(const checkpoint::SaveProgress&)>;
  [[nodiscard]] bool wait_until_committed(std::optional<Duration> at_most, const OnSaveProgress& look);
  [[nodiscard]] Duration last_commit_timeout() const;
  // Throws if this process was asked to end and the time for a last commit has passed. leave_if_overdue()
  // stores in `leaves` the time at which this process must end. Pass an empty `leaves` to the first call, and
  // the same object to later calls.
  void leave_if_overdue(std::optional<Timestamp>& leaves, Timestamp now);
  void fail_if_stuck(const checkpoint::SaveProgress& progress) const;
  // Waits for the commit of the checkpoint that was just saved, and throws Interrupted, so that a replacement
  // joins.
  [[noreturn]] void hand_over();
  // Waits for the commit of the checkpoint that was just saved, and throws the Failure that ends the process.
  [[noreturn]] void save_and_exit(std::uint32_t agreed);
  void leave_if_drained();
  // Returns whether a checkpoint that save_best() keeps is missing, because its save failed or a rollback
  // moved it away.
  [[nodiscard]] bool is_checkpoint_missing(const checkpoint::CheckpointId& id);
  // Looks in the stores for the best checkpoints that the home lacks, as after a move to another machine.
  // Rank 0 calls look_for_best_checkpoints() once, before the first step, because a store may answer late.
  void look_for_best_checkpoints();
  void report_best_checkpoints();
  // Stores the best checkpoints for the status of the run.
  void show_best_checkpoints();
  void report_finished();
  // Stores the reason of finish() for the coordinator and the completion record.
  void store_finish_reason(const std::string& reason);
  // Returns, as bits, the requests of all ranks that take effect at the end of this step.
  [[nodiscard]] std::uint32_t take_agreed_requests();
  void enter(ProcessPhase phase);

  std::vector<std::function<void()>> before_saves_;
  std::vector<std::function<void()>> before_saves_of_all_;
  const Options& options_;
  session::CheckpointLocations& locations_;
  checkpoint::Saver& saver_;
  session::Link& link_;
  const Clock& clock_;
  metrics::Meters& meters_;
  const std::shared_ptr<session::TimeAccounts> accounts_;
  const Assignment assignment_;
  session::TrackedObjects tracked_objects_;
  session::FixedShapes fixed_shapes_;
  session::ProcessReport position_;
  const std::shared_ptr<checkpoint::Disk> history_disk_;
  const std::shared_ptr<session::Drain> drain_;
  const std::shared_ptr<session::NumericsWatch> numerics_;
  const std::shared_ptr<session::StartSnapshot> start_snapshot_;
  std::function<session::DataPosition()> data_;
  EpochHook on_epoch_begin_;
  EpochHook on_epoch_end_;
  std::optional<std::uint64_t> beginning_epoch_;  // the epoch that the next step begins
  std::optional<checkpoint::RunRecord> resumed_;  // as in the manifest
  std::vector<Stream*> streams_;
  std::vector<checkpoint::Rollback> rollbacks_;           // in force, including one that this attempt makes
  std::optional<session::RollbackStart> rollback_start_;  // where this attempt begins after a rollback
  std::optional<session::RunSchedule> schedule_;          // from begin() on
  std::unique_ptr<session::Reporting> reporting_;         // of rank 0, from begin() on
  // Writes the run's history, whose file is synced before each commit. *history_ is null before begin().
  std::shared_ptr<std::shared_ptr<session::HistoryWriter>> history_ =
      std::make_shared<std::shared_ptr<session::HistoryWriter>>();
  struct Saved {
    RunPosition position;
    Timestamp began;
  };
  std::vector<Saved> pending_saves_;  // neither known to be committed nor missed
  bool must_report_uncommitted_ =
      false;  // whether to report that many are uncommitted, once the reason is known
  // Durable has the newest position that is reported as durable, and the time at which it became durable. The
  // engine also keeps the previous durable position, because the newest checkpoint may be damaged.
  struct Durable {
    RunPosition position{};
    Timestamp since{};
  };
  Durable durable_position_;
  Durable previous_durable_;
  preemption::SaveCosts save_costs_;
  session::RankMeans rank_means_;
  session::PhaseWatch phase_watch_;
  const Timestamp joined_at_;
  Timestamp step_began_;
  std::uint64_t last_served_save_request_ = 0;
  std::optional<Step> saved_step_;     // the last one that was saved or resumed from
  std::uint32_t agreed_requests_ = 0;  // control word of the current step
  bool has_agreed_ = false;            // in the current step
  bool has_ever_agreed_ = false;
  session::ProgramRequests requests_;          // of the program
  session::BestCheckpoints best_checkpoints_;  // of rank 0
  bool is_save_due_ = false;                   // save_best() saves the current step
  bool is_ending_step_ = false;                // on_epoch_end() may act before the step is saved
  std::set<checkpoint::CheckpointId> committed_ids_;
  bool was_end_agreed_ = false;  // all agreed that the step that ended was the last one
  bool has_begun_ = false;
  bool is_validating_ = false;
  bool has_reported_save_wait_ = false;
  ProcessPhase phase_before_wait_ = ProcessPhase::kCompute;  // the phase that the wait for data interrupts
  std::exception_ptr data_wait_error_;                       // of the current step
};

}  // namespace ratoon
