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
#include "base/core/clock.h"

namespace ratoon {

// CheckpointUnreadable: this rank cannot read the checkpoint from which all ranks resume, because it is
// damaged or missing. CheckpointUnreadable ends the attempt in the same way as a change of the set of
// processes. The next attempt resumes from a checkpoint that is older than the unreadable one.
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
  void on_epoch_end(std::function<void(std::uint64_t epoch)> act);
  // Loads one object from the checkpoint before begin() restores all of them. Returns false if the run does
  // not resume from a checkpoint.
  [[nodiscard]] bool peek(const std::string& name, std::function<void(StateReader&)> load);
  void begin(Until until);
  void report(std::string_view name, double value, std::uint64_t samples);
  [[nodiscard]] session::RankMeans::Numbers numbers() const { return means_.numbers(); }
  void before_saves(std::function<void()> check) { before_saves_.push_back(std::move(check)); }
  void before_saves_of_all(std::function<void()> check) { before_saves_of_all_.push_back(std::move(check)); }
  void take_sums(std::span<const float, session::RankMeans::kNumbers> sums_of_all);
  // Ends the log lines and the progress bar of a finished attempt. The progress bar stays visible, and later
  // output begins on the next line.
  void end_reporting();
  // Ends the reporting while an exception is handled, and throws the exception again. An Interrupted that the
  // program itself threw becomes a Failure, unless the set of processes has changed.
  [[noreturn]] void end_with_exception();
  void end_step();
  // The header program_requests.h describes in which step finish_early() and save requests take effect.
  void finish_early(const std::string& reason);
  [[nodiscard]] SaveTicket ask_to_save(const std::string& keep);
  // Throws if save_best() must not be called at this point. All ranks call check_save_best().
  void check_save_best(std::string_view name, const KeepBest& how);
  // Returns whether `value` is among the best values. Only rank 0 calls note_best().
  [[nodiscard]] bool note_best(std::string_view name, double value, const KeepBest& how) {
    return best_.note(name, value, how, [this](const auto& id) { return is_missing(id); });
  }
  void save_this_step() { is_save_due_ = true; }
  // Any thread may call notify(), which announces the end of this process.
  void notify(Duration left, const std::string& why) { drain_->notify(clock_.now(), left, why); }
  void take_back_notice() { drain_->take_back_notice(); }
  // Begins a phase within a step. Does nothing before the loop over steps, because all time before it counts
  // as restart time.
  void enter_within_step(ProcessPhase phase);
  // Handles Session::complete(), with which a program without train() reports the end of its loop. Saves the
  // last steps now, because the tracked objects still exist. Throws if the run has not reached its end. After
  // the save of the last steps, throws if the process was asked to end.
  void end_in_place();
  void still_alive() { enter_within_step(position_.phase); }
  // Returns whether the training function may return, because the run is at its end.
  [[nodiscard]] bool is_done() const { return schedule_ && schedule_->is_over(); }
  // Returns whether the run's last step has ended; false during on_epoch_end() of that step.
  [[nodiscard]] bool is_past_end() const { return is_done() && !is_ending_step_; }
  // Handles a return of the training function before the run's end. Throws the loss of a rank or the notice
  // to end if one explains the return, else an error of the program.
  [[noreturn]] void refuse_early_return();
  // Returns the exception that explains why the run is not complete: a lost rank, a notice to end, or an
  // error of the program. `waits` says whether to wait until the coordinator reports a reason.
  [[nodiscard]] std::exception_ptr why_not_complete(const std::string& ended_by,
                                                    const std::string& how_to_end, bool waits);
  // If a lost rank or a notice to end explains why the program's loop ended with an exception, throws this
  // reason. Returns normally if neither a loss nor a notice explains the exception.
  void leave_if_explained(const std::string& ended_by) { static_cast<void>(wait_for_news(ended_by)); }
  // Completes the run after the training function has returned at the run's end. Returns when the checkpoint
  // of the last step is committed.
  void finish();
  // Throws if the process was asked to end before the work after finish() is done. If so, a later start of
  // the run does the work that remains after finish().
  void leave_if_told();

  [[nodiscard]] Rendezvous rendezvous() const;
  void check() const;  // from any thread
  [[nodiscard]] std::uint32_t requests() const;
  void agree(std::uint32_t requests_of_all) {
    agreed_ |= requests_of_all;
    has_agreed_ = ever_agreed_ = true;
  }

  [[nodiscard]] const Assignment& assignment() const { return assignment_; }
  [[nodiscard]] Step step() const { return position_.step; }
  [[nodiscard]] std::uint32_t local_rank() const {
    return options_.group.size > 1 ? options_.group.local_rank : options_.member.local_rank;
  }
  [[nodiscard]] std::uint32_t local_size() const {
    return options_.group.size > 1 ? options_.group.local_size : options_.member.processes_per_node;
  }
  [[nodiscard]] const std::shared_ptr<checkpoint::CallsWithTimeout>& calls() const { return places_.calls(); }
  [[nodiscard]] std::string folder() const {
    return session::is_home_in_store(options_) ? "" : session::run_folder(options_).string();
  }
  [[nodiscard]] std::uint64_t first_seed_of(std::string_view name) const;
  [[nodiscard]] std::uint64_t seed() const { return options_.seed.value_or(0); }
  [[nodiscard]] StreamOptions stream_options(StreamOptions of_program) const;
  [[nodiscard]] std::uint64_t seed_of(std::string_view name) const;
  [[nodiscard]] bool has_schedule() const { return schedule_.has_value(); }
  [[nodiscard]] bool is_at_end() const { return !schedule_ || schedule_->is_over(); }
  [[nodiscard]] const session::Position& position() const { return position_; }

 private:
  // A DataLoader calls begin_wait() when the training thread begins to wait for a batch.
  void begin_wait() override;
  void end_wait() override { enter_within_step(waited_from_); }
  void note_failure(std::exception_ptr failure) override { failed_wait_ = std::move(failure); }
  void restore();
  // `name` is the checkpoint's name in messages. Returns the name of the tier (local folder or store) from
  // which the checkpoint was read. Throws a Failure.
  using ReadCheckpoint =
      std::function<Result<void>(checkpoint::CheckpointReader& reader, const std::string& name)>;
  std::string read_checkpoint(const ReadCheckpoint& read);
  [[nodiscard]] Result<std::string> restore_once_seen(const std::string& name,
                                                      const session::CheckpointLocations::Load& load);
  // Waits for `time`, or until the attempt ends.
  void pause_in_load(Duration time);
  // The engine calls pass_over_skipped() after restore(). Moves the tracked streams past samples that the
  // user's rollbacks skip. Before moving the streams, records the rollback of this attempt.
  void pass_over_skipped();
  void keep_rollbacks();
  [[nodiscard]] Stream& stream_to_skip_in() const;
  // Begins a run that has no checkpoint to resume from.
  void begin_new_run();
  void check_nothing_is_left() const;
  // Reports why the results may differ in bits from those of the restored run.
  void note_numerics();
  // Allocates memory for the first save in advance.
  void prepare_saves();
  void count_replay();
  // Writes the file of final weights; called on rank 0 at the run's end. An error of the weights file does
  // not fail the run, because the checkpoint also has the weights.
  void leave_weights();
  // Pins the last checkpoint (so that it is never removed) if the program requested this after the last save.
  void serve_late_requests();
  void show_progress();
  void show(const std::vector<session::RankMeans::Mean>& means);
  void check_followed_stream() const;
  void begin_schedule(Until until);
  // Calls on_epoch_end() for the epochs that ended in the last step, which began at `samples_before`.
  void end_epochs(std::uint64_t samples_before);
  // If an earlier start of the run ended with finish(), the run ends at the same step again. If the user has
  // changed the run's end since that start, the run continues.
  void keep_early_end();
  // Prints a sentence without breaking the line of the progress bar.
  void say(const std::string& sentence) const;
  void begin_reporting();
  void carry_ledger_over();
  [[nodiscard]] bool is_first() const { return assignment_.rank.value() == 0; }
  [[nodiscard]] session::DataPosition data() const { return data_ ? data_() : session::DataPosition(); }
  void save(std::uint32_t agreed = 0);
  // Returns the run's record (such as its time accounts) for the receipt, the file with which this rank
  // confirms its part of a save. The manifest of the checkpoint gets rank 0's record.
  [[nodiscard]] std::optional<checkpoint::RunRecord> run_record(std::uint32_t agreed);
  [[nodiscard]] checkpoint::EarlyEnd early_end(const std::string& reason) const;
  [[noreturn]] void refuse_early_end(const std::string& ended_by, const std::string& how_to_end);
  // If the program left its loop, waits until the coordinator may report the reason, such as a lost rank, and
  // throws it. If no reason arrives, returns the time limit for waiting for a save in progress.
  Timestamp wait_for_news(const std::string& ended_by);
  [[nodiscard]] std::exception_ptr classify_interruption(const Interrupted& thrown);
  [[nodiscard]] bool has_end() const;
  // Throws an error, because a program without train() made a step after the run's end.
  [[noreturn]] void refuse_step_after_end();
  // Returns a text such as "at step 149 of 1000". describe_saved() says which steps are saved.
  [[nodiscard]] std::string describe_position() const;
  [[nodiscard]] std::string describe_saved() const;
  // Waits until the save in progress is committed, but not longer than until `give_up`. Returns a text about
  // the saved steps.
  [[nodiscard]] std::string describe_saved_by(Timestamp give_up);
  void note_commit(Step step, Duration ago);
  // Returns whether a save is in progress, for example the save before a replacement process takes over.
  // While a save is in progress, another requested save must wait.
  [[nodiscard]] bool is_save_under_way() const;
  void note_saves_under_way();
  // Reports the newest checkpoint as durable, unless an attempt to read it has failed.
  void take_durable(const checkpoint::SaveProgress& progress);
  void show_durable();
  // Asks the saver which saves are committed and which failed. Throws a Failure if too many saves in a row
  // have failed.
  checkpoint::SaveProgress look_at_saves();
  // Waits until every save is committed, even if the set of processes changes. Returns false if `at_most` has
  // passed, or if the newest save failed.
  [[nodiscard]] bool wait_for_commits_in_any_world(Duration at_most);
  // Waits until the last checkpoint of the run is committed. Throws like check(), if the process was asked to
  // end, or if no file of the checkpoint has changed for longer than patience_at_end().
  [[nodiscard]] bool wait_for_last_commit();
  using LookAtWait = std::function<void(const checkpoint::SaveProgress&)>;
  [[nodiscard]] bool wait_until_committed(std::optional<Duration> at_most, const LookAtWait& look);
  [[nodiscard]] Duration patience_at_end() const;
  // `leaves` keeps, between calls, the time at which this process must end. It begins empty.
  void leave_in_time(std::optional<Timestamp>& leaves, Timestamp now);
  void fail_if_stuck(const checkpoint::SaveProgress& progress) const;
  // Waits for the commit of the checkpoint that was just saved, and throws Interrupted, so that a replacement
  // joins.
  [[noreturn]] void hand_over();
  // Waits for the commit of the checkpoint that was just saved, and throws the Failure that ends the process.
  [[noreturn]] void stop(std::uint32_t agreed);
  void leave_if_drained();
  // Returns whether a checkpoint that save_best() keeps is missing, because its save failed or a rollback
  // moved it away.
  [[nodiscard]] bool is_missing(const checkpoint::CheckpointId& id);
  void say_best();
  void say_that_it_is_finished();
  // Stores the reason of finish() for the coordinator and the completion record.
  void tell_finish_reason(const std::string& reason);
  // Returns the control word, the requests of all ranks as bits, for the step that ends.
  [[nodiscard]] std::uint32_t take_agreed();
  void enter(ProcessPhase phase);

  std::vector<std::function<void()>> before_saves_;
  std::vector<std::function<void()>> before_saves_of_all_;
  const Options& options_;
  session::CheckpointLocations& places_;
  checkpoint::Saver& saver_;
  session::Link& link_;
  const Clock& clock_;
  metrics::Meters& meters_;
  const std::shared_ptr<session::TimeAccounts> accounts_;
  const Assignment assignment_;
  session::TrackedObjects tracked_;
  session::Position position_;
  const std::shared_ptr<checkpoint::Disk> history_disk_;
  const std::shared_ptr<session::Drain> drain_;
  const std::shared_ptr<session::NumericsWatch> numerics_;
  const std::shared_ptr<session::StartSnapshot> start_snapshot_;
  std::function<session::DataPosition()> data_;
  std::function<void(std::uint64_t epoch)> on_epoch_end_;
  std::optional<checkpoint::RunRecord> resumed_;  // as in the manifest
  std::vector<Stream*> streams_;
  std::vector<checkpoint::Rollback> rollbacks_;           // in force, including one that this attempt makes
  std::optional<session::RollbackStart> rollback_start_;  // where this attempt begins after a rollback
  std::optional<session::RunSchedule> schedule_;          // from begin() on
  std::unique_ptr<session::Reporting> reporting_;         // of rank 0, from begin() on
  // The writer of the run's history, whose file is synced before each commit. Null before begin().
  std::shared_ptr<std::shared_ptr<session::HistoryWriter>> history_ =
      std::make_shared<std::shared_ptr<session::HistoryWriter>>();
  struct Saved {
    RunPosition position;
    Timestamp began;
  };
  std::vector<Saved> saved_;       // neither known to be committed nor missed
  bool says_uncommitted_ = false;  // whether to report that many are uncommitted, once the reason is known
  // The position that is reported as durable, and since when. The previous durable position is kept too, for
  // the case that the newest checkpoint is found to be damaged.
  struct Durable {
    RunPosition position{};
    Timestamp since{};
  };
  Durable durable_;
  Durable durable_before_;
  preemption::SaveCosts save_costs_;
  session::RankMeans means_;
  session::PhaseWatch phases_;
  const Timestamp joined_;
  Timestamp step_began_;
  std::uint64_t served_save_request_ = 0;
  std::optional<Step> saved_step_;  // the last one that was saved or resumed from
  std::uint32_t agreed_ = 0;        // control word of the current step
  bool has_agreed_ = false;         // in the current step
  bool ever_agreed_ = false;
  session::ProgramRequests requests_;  // of the program
  session::BestCheckpoints best_;      // of rank 0
  bool is_save_due_ = false;           // save_best() saves the current step
  bool is_ending_step_ = false;        // on_epoch_end() may act before the step is saved
  std::set<checkpoint::CheckpointId> seen_committed_;
  bool is_finished_ = false;  // all agreed that the step that ended was the last one
  bool has_begun_ = false;
  bool has_said_that_it_waits_ = false;
  ProcessPhase waited_from_ = ProcessPhase::kCompute;  // the phase that the wait for data interrupts
  std::exception_ptr failed_wait_;                     // of the current step
};

}  // namespace ratoon
