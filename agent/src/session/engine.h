// Engine: what stands behind Session for one attempt. It restores, counts, saves, and looks up after every
// step whether the world still stands.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/failure.h>
#include <ratoon/options.h>
#include <ratoon/session.h>
#include <ratoon/stream.h>

#include "agent/src/checkpoint/saver.h"
#include "agent/src/data/loader/wait_listener.h"
#include "agent/src/metrics/meters.h"
#include "agent/src/preemption/save_interval.h"
#include "agent/src/session/accounts.h"
#include "agent/src/session/course.h"
#include "agent/src/session/drain.h"
#include "agent/src/session/first_state.h"
#include "agent/src/session/link.h"
#include "agent/src/session/numerics_watch.h"
#include "agent/src/session/phase_watch.h"
#include "agent/src/session/places.h"
#include "agent/src/session/rank_means.h"
#include "agent/src/session/reporting.h"
#include "agent/src/session/tracked_objects.h"
#include "agent/src/session/wish_list.h"
#include "base/core/clock.h"

namespace ratoon {

// The session itself says that this attempt is over. A program may throw an Interrupted of its own, or one
// that it kept from an attempt before.
class AttemptOver : public Interrupted {
 public:
  AttemptOver(Attempt which, const std::string& why) : Interrupted(why), attempt(which) {}
  Attempt attempt;
};

// The checkpoint that all were to resume from is damaged or gone as far as this rank sees. To the training
// function it is a change of the world like any other; the next one resumes from an older checkpoint.
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
  // What outlives the attempts.
  struct Surroundings {
    const Options& options;
    session::Places& places;
    checkpoint::Saver& saver;
    session::Link& link;
    const Clock& clock;
    metrics::Meters& meters;
    std::shared_ptr<checkpoint::Disk> history_disk{};  // the run's folder; null: there is no history
    std::shared_ptr<session::Accounts> accounts{};     // null: of this attempt alone
    std::shared_ptr<session::Drain> drain = std::make_shared<session::Drain>();
    std::shared_ptr<session::NumericsWatch> numerics{};  // null: nobody asks
    std::shared_ptr<session::FirstState> first_state{};  // null: this process has one attempt
  };
  Engine(const Surroundings& surroundings, Assignment assignment);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void track(std::string name, session::TrackedObjects::Save save, session::TrackedObjects::Load load,
             session::ObjectKind kind = session::ObjectKind::kState);
  // One that is tracked: what --skip is of.
  void note_stream(Stream& stream) { streams_.push_back(&stream); }
  void follow(std::function<session::DataPosition()> data) { data_ = std::move(data); }
  void on_epoch_end(std::function<void(std::uint64_t epoch)> act);
  void begin(Until until);
  void report(std::string_view name, double value, std::uint64_t samples);
  [[nodiscard]] session::RankMeans::Numbers numbers() const { return means_.numbers(); }
  void before_saves(std::function<void()> check) { before_saves_.push_back(std::move(check)); }
  void before_saves_of_all(std::function<void()> check) { before_saves_of_all_.push_back(std::move(check)); }
  void take_sums(std::span<const float, session::RankMeans::kNumbers> sums_of_all);
  // The attempt is over. The bar stands as it is, and other lines come after it.
  void end_reporting();
  // The same where an exception is handled: it is thrown again. An Interrupted that the program threw by
  // itself becomes a Failure, unless the world has changed.
  [[noreturn]] void end_with_exception();
  void end_step();
  // See wish_list.h for the step in which these two take effect.
  void finish_early(const std::string& reason);
  [[nodiscard]] SaveTicket ask_to_save(const std::string& keep);
  // From any thread.
  void notify(Duration left, const std::string& why) { drain_->notify(clock_.now(), left, why); }
  void take_back_notice() { drain_->take_back_notice(); }
  // Nothing before the loop: all of that is a restart.
  void enter_within_step(ProcessPhase phase);
  // In place, the program says that it is done: the steps since the last save are saved, where what is
  // tracked still lives. Throws where the run has an end and is not at it, and, once they are saved, where it
  // was told to leave.
  void end_in_place();
  void still_alive() { enter_within_step(position_.phase); }
  // The training function returned. Whether it may, since the run is at its end.
  [[nodiscard]] bool is_done() const { return course_ && course_->is_over(); }
  // It may not: throws what the world has to say of it, and else that the program is wrong.
  [[noreturn]] void refuse_early_return();
  // Why a process may not end with 0 here: what the world has to say of it, or else that the program is
  // wrong. Whether it waits for news of the world.
  [[nodiscard]] std::exception_ptr why_not_complete(const std::string& what_ended,
                                                    const std::string& how_to_end, bool waits);
  // It may: the checkpoint of the last step is committed before this returns.
  void finish();
  // Throws where it was told to leave before all that follows finish() is done: a later start does it.
  void leave_if_told();

  [[nodiscard]] Rendezvous rendezvous() const;
  void check() const;  // from any thread
  [[nodiscard]] std::uint32_t wishes() const;
  void agree(std::uint32_t wishes_of_all) {
    agreed_ |= wishes_of_all;
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
  [[nodiscard]] std::uint64_t first_seed_of(std::string_view name) const;
  [[nodiscard]] std::uint64_t seed() const { return options_.seed.value_or(0); }
  [[nodiscard]] StreamOptions stream_options(StreamOptions of_program) const;
  [[nodiscard]] std::uint64_t seed_of(std::string_view name) const;
  [[nodiscard]] bool is_at_end() const { return !course_ || course_->is_over(); }
  [[nodiscard]] const session::Position& position() const { return position_; }

 private:
  // A loader on the training thread.
  void begin_wait() override;
  void end_wait() override { enter_within_step(waited_from_); }
  void note_failure(std::exception_ptr failure) override { failed_wait_ = std::move(failure); }
  void restore();
  // After it: what rollbacks pass over is never taken, and a new one is recorded before anything else is.
  void pass_over_skipped();
  void keep_rollbacks();
  [[nodiscard]] Stream& stream_to_skip_in() const;
  // Nowhere is a checkpoint to resume from.
  void begin_new_run();
  void check_that_nothing_is_left() const;
  // Says where bits may differ from what was restored.
  void note_numerics();
  // The first save finds its memory there.
  void prepare_saves();
  void count_replay();
  // At the end, by rank 0. The training is done all the same where this fails: the checkpoint has them.
  void leave_weights();
  void show_progress();
  void show(const std::vector<session::RankMeans::Mean>& means);
  void check_followed_stream() const;
  void begin_course(Until until);
  // Those that ended with the step, which began at so many samples.
  void end_epochs(std::uint64_t samples_before);
  // Unless the run has another end by now: that is the wish to go on.
  void keep_early_end();
  // Between lines of the bar.
  void say(const std::string& sentence) const;
  void begin_reporting();
  void carry_ledger_over();
  [[nodiscard]] bool is_first() const { return assignment_.rank.value() == 0; }
  [[nodiscard]] session::DataPosition data() const { return data_ ? data_() : session::DataPosition(); }
  void save(std::uint32_t agreed = 0);
  // For the receipt: rank 0's is for the manifest.
  [[nodiscard]] std::optional<checkpoint::RunRecord> run_record(std::uint32_t agreed);
  [[nodiscard]] checkpoint::EarlyEnd early_end(const std::string& reason) const;
  [[noreturn]] void refuse_early_end(const std::string& what_ended, const std::string& how_to_end);
  // Throws what the world has to say of an attempt that the program ended: it may be a little late. Until
  // when a save that is under way is waited for.
  Timestamp wait_for_news(const std::string& what_ended);
  [[nodiscard]] std::exception_ptr what_an_interruption_is(const Interrupted& thrown);
  [[nodiscard]] bool has_end() const;
  // The function goes on after the run's end, in place.
  [[noreturn]] void refuse_step_after_end();
  // "at step 149 of 1000", and what of it is saved.
  [[nodiscard]] std::string where_it_stands() const;
  [[nodiscard]] std::string what_is_saved() const;
  // Once what is under way is committed, or at that time.
  [[nodiscard]] std::string what_is_saved_by(Timestamp give_up);
  void note_commit(Step step, Duration ago);
  // It ends before another one is begun because of a request: that one may be the hand-over's, too.
  [[nodiscard]] bool is_save_under_way() const;
  void note_saves_under_way();
  // One that did not read back is not called durable any longer than it takes to hear of that.
  void take_durable(const checkpoint::SaveProgress& progress);
  void show_durable();
  // Hears how the saves stand. Throws once too many were missed.
  checkpoint::SaveProgress look_at_saves();
  // Until nothing that was saved is uncommitted: false after that time, and where the newest was missed.
  [[nodiscard]] bool wait_for_commits_in_any_world(Duration at_most);
  // At the end of the run. Throws as check() does, and where it was told to leave, and where nothing of the
  // checkpoint has changed for longer than patience_at_end().
  [[nodiscard]] bool wait_for_last_commit();
  using LookAtWait = std::function<void(const checkpoint::SaveProgress&)>;
  [[nodiscard]] bool wait_until_committed(std::optional<Duration> at_most, const LookAtWait& look);
  [[nodiscard]] Duration patience_at_end() const;
  // `leaves`: by when, from the first look on.
  void leave_in_time(std::optional<Timestamp>& leaves, Timestamp now);
  void fail_if_stuck(const checkpoint::SaveProgress& progress) const;
  // Waits for the checkpoint that was just saved, and throws Interrupted.
  [[noreturn]] void hand_over();
  // Waits for the checkpoint that was just saved, and throws Failure: the process ends.
  [[noreturn]] void stop(std::uint32_t agreed);
  void leave_if_drained();
  void say_that_it_is_finished();
  // The control word that holds for the step that ends.
  [[nodiscard]] std::uint32_t take_agreed();
  void enter(ProcessPhase phase);

  std::vector<std::function<void()>> before_saves_;
  std::vector<std::function<void()>> before_saves_of_all_;
  const Options& options_;
  session::Places& places_;
  checkpoint::Saver& saver_;
  session::Link& link_;
  const Clock& clock_;
  metrics::Meters& meters_;
  const std::shared_ptr<session::Accounts> accounts_;
  const Assignment assignment_;
  session::TrackedObjects tracked_;
  session::Position position_;
  const std::shared_ptr<checkpoint::Disk> history_disk_;
  const std::shared_ptr<session::Drain> drain_;
  const std::shared_ptr<session::NumericsWatch> numerics_;
  const std::shared_ptr<session::FirstState> first_state_;
  std::function<session::DataPosition()> data_;
  std::function<void(std::uint64_t epoch)> on_epoch_end_;
  std::optional<checkpoint::RunRecord> resumed_;  // as the manifest has it
  std::vector<Stream*> streams_;
  std::vector<checkpoint::Rollback> rollbacks_;     // in force, with one that this attempt makes
  std::optional<session::PassedOver> passed_over_;  // where this attempt begins behind a rollback
  std::optional<session::Course> course_;           // from begin() on
  std::unique_ptr<session::Reporting> reporting_;   // of rank 0, from begin() on
  // What the writer of commits syncs before: null before begin(), and so before any commit.
  std::shared_ptr<std::shared_ptr<session::HistoryWriter>> history_ =
      std::make_shared<std::shared_ptr<session::HistoryWriter>>();
  struct Saved {
    RunPosition position;
    Timestamp began;
  };
  std::vector<Saved> saved_;       // neither known to be committed nor missed
  bool says_uncommitted_ = false;  // that there are many of them, once it is known why
  // What is called durable, and since when; the one before it, should it turn out bad.
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
  session::WishList wishes_;  // of the program
  bool is_finished_ = false;  // all agreed that the step that ended was the last one
  bool has_begun_ = false;
  bool has_said_that_it_waits_ = false;
  ProcessPhase waited_from_ = ProcessPhase::kCompute;  // what the wait for data interrupts
  std::exception_ptr failed_wait_;                     // of the step under way
};

}  // namespace ratoon
