#include "agent/src/session/api/attempt_loop.h"

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "agent/src/session/link/group_link.h"
#include "agent/src/session/options/check_options.h"
#include "agent/src/session/options/location_options.h"
#include "agent/src/session/options/staging_options.h"
#include "agent/src/session/shutdown/exit_report.h"
#include "agent/src/session/shutdown/exit_watch.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/shutdown/group_end.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "agent/src/session/shutdown/resume_command.h"
#include "agent/src/session/shutdown/termination_record.h"
#include "agent/src/session/telemetry/say.h"
#include "base/contract/exit_code.h"
#include "base/core/random_name.h"
#include "base/core/split_join.h"

namespace ratoon {

using session::fail;

namespace {

// Time limits count from the start of this process, not from the call of train().
const Timestamp kProcessStartTime = SystemClock().now();

// A process copies checkpoints to stores (S3 buckets or other folders) during the training. Before the
// process ends, it waits at most kFinalCopiesTimeout for the copies of its last checkpoint. After
// kFinalCopiesTimeout, the process reports the stores that lack a copy.
constexpr auto kFinalCopiesTimeout = std::chrono::seconds(10);

// Before a process joins the other processes, it waits at most kStagedSavesTimeout until its staged saves,
// which are in memory, are written to the disk. A staged save may be the newest checkpoint.
constexpr auto kStagedSavesTimeout = std::chrono::seconds(10);

void wait_for_staged_saves(checkpoint::Saver& saver, Duration at_most) {
  static_cast<void>(saver.wait_until_written(at_most));
  for (const std::string& event : saver.poll().events) session::say(event);
}

// Connects the metrics to the ledgers, which count the run's time, and returns the metrics. Call
// connect_ledgers_to_metrics() before the /metrics endpoint serves `meters`.
const metrics::Meters& connect_ledgers_to_metrics(metrics::Meters& meters,
                                                  const std::shared_ptr<session::TimeAccounts>& accounts) {
  meters.time_ledger = [accounts] { return session::seconds_of(accounts->process_account()); };
  meters.run_time_ledger = [accounts] {
    const auto run = accounts->run_ledger();
    return run ? session::seconds_of(run->account) : decltype(session::seconds_of({}))();
  };
  return meters;
}

// Moves the damaged checkpoint to a separate folder, so that no later start tries to load it. The only
// remaining checkpoint stays in place: if a machine can read no checkpoint, the machine is probably faulty.
// If the checkpoint cannot be moved, the run continues, because the process remembers the damaged checkpoint.
void quarantine_checkpoint(const session::CheckpointLocations& places, const CheckpointUnreadable& why) {
  const auto inventory = places.inventory();
  if (inventory && inventory->complete.size() >= 2) places.quarantine_checkpoint(why.id, why.what());
}

// Returns a hint on how to continue a stopped run. On ranks above 0, the hint is empty. With a coordinator,
// the hint is also empty, because the user did not type the command of this process.
std::string resume_hint(const Options& options, const Session::Engine& engine) {
  if (engine.assignment().rank.value() != 0 || !options.member.coordinator_url.empty()) return "";
  if (options.overwrite) return "; the same command without --overwrite continues the run";
  if (!options.autoresume) return "; the same command with --autoresume=true continues the run";
  return "; the same command continues the run: " + session::own_command();
}

bool is_final_failure(const Failure& why) {
  return why.exit_code == static_cast<int>(ExitCode::kConfiguration) ||
         why.exit_code == static_cast<int>(ExitCode::kCheckpointsBad);
}

// Returns the result of `act`, which runs before this process has connected to other processes. If `act`
// fails and no retry is possible, publishes the error, so that other ranks do not wait for this process.
template <class Act>
auto run_or_inform_group(const Options& options, const Act& act) {
  try {
    return act();
  } catch (const Failure& why) {
    if (is_final_failure(why)) {
      const auto calls = std::make_shared<checkpoint::CallsWithTimeout>(
          std::chrono::seconds(options.disk_timeout_seconds), std::make_shared<SystemClock>());
      session::skip_teardown_if([abandoned = calls->was_abandoned()] { return abandoned->load(); });
      session::report_end_to_group(options, calls, why.what());
    }
    throw;
  }
}

// Checks the options again, because the program may have changed them after the parser's checks.
Options checked_options(Options options) {
  if (const auto valid = session::check_options(options); !valid)
    fail(ExitCode::kConfiguration, valid.error().message());
  session::make_paths_absolute(options);
  return options;
}

bool is_ordered_to_leave(const Failure& why) {
  return why.exit_code == static_cast<int>(ExitCode::kPreempted) ||
         why.exit_code == static_cast<int>(ExitCode::kInterruptedByUser);
}

bool is_ordered_to_leave(const session::Link& link) {
  return link.world_status() == session::WorldStatus::kFenced ||
         link.world_status() == session::WorldStatus::kStop;
}

}  // namespace

template <class Act>
auto Session::AttemptLoop::run_or_publish_refusal(const Act& act) {
  try {
    return act();
  } catch (const Failure& why) {
    note_job_end(why);
    if (is_final_failure(why)) link_->publish_final_failure(why.what());
    throw;
  }
}

// With a coordinator, only Ctrl-C or an order for the whole job ends the job, because the coordinator may
// replace a process that fails or leaves. Without a coordinator, all processes of the job end together.
void Session::AttemptLoop::note_job_end(const Failure& why) {
  const bool is_stopped = why.exit_code == static_cast<int>(ExitCode::kInterruptedByUser);
  const bool is_over = has_coordinator() ? is_stopped || (is_ordered_to_leave(why) && link_->is_job_over())
                                         : is_ordered_to_leave(why) || is_final_failure(why);
  if (is_over) locations_.note_job_over();
}

Session::AttemptLoop::AttemptLoop(Options options, HowMany how_many)
    : options_(checked_options(std::move(options))),
      numerics_(run_or_inform_group(options_,
                                    [this] {
                                      return std::make_shared<session::NumericsWatch>(
                                          options_.deterministic, options_.seed.value_or(0),
                                          session::attached_numerics());
                                    })),
      start_snapshot_(how_many == HowMany::kAny
                          ? std::make_shared<session::StartSnapshot>(session::first_state_bytes_max(options_))
                          : nullptr),
      notices_(run_or_inform_group(
          options_, [this] { return session::NoticeWatch(options_, clock_, kProcessStartTime); })),
      accounts_(std::make_shared<session::TimeAccounts>(clock_)),
      locations_(run_or_inform_group(
          options_, [this] { return session::CheckpointLocations(options_, shared_meters_); })),
      link_(open_link()),
      saver_(run_or_publish_refusal([this] { return open_saver(); })),
      dependencies_{.options = options_,
                    .places = locations_,
                    .saver = saver_,
                    .link = *link_,
                    .clock = clock_,
                    .meters = meters_,
                    .history_disk = locations_.folder(),
                    .accounts = accounts_,
                    .drain = notices_.drain(),
                    .numerics = numerics_,
                    .start_snapshot = start_snapshot_},
      endpoint_(metrics::open_endpoint(options_.member, connect_ledgers_to_metrics(meters_, accounts_),
                                       Logger(clock_, {.format = LogFormat::kText}))) {
  run_or_publish_refusal([this] {
    if (options_.overwrite && !has_coordinator()) locations_.move_old_checkpoints_away();
    if (!options_.autoresume && options_.group.rank == 0) check_resume_allowed();
  });
  link_->set_waiting_callback([accounts = accounts_] { accounts->note_waiting_for_members(); });
}

void Session::AttemptLoop::check_resume_allowed() {
  const auto why = locations_.find_resume_refusal();
  if (why && options_.group.size == 1) fail(ExitCode::kConfiguration, *why);
  if (why) link_->form_no_new_world(*why);
}

std::unique_ptr<session::Link> Session::AttemptLoop::open_link() {
  const auto goes_on = [this] { return notices_.can_still_begin_attempt(); };
  auto link = session::make_link(options_, locations_.calls(), goes_on);
  if (link) return *std::move(link);
  if (link.error().kind() == ErrorKind::kCancelled) notices_.leave_if_no_attempt_can_begin();
  fail(session::exit_code_of(link.error()), link.error().message());
}

checkpoint::Saver Session::AttemptLoop::open_saver() {
  try {
    if (!has_coordinator() && options_.group.rank == 0)
      locations_.claim_locations([this] { return notices_.can_still_begin_attempt(*link_); });
    if (has_coordinator()) {
      locations_.enter(
          [this] { return notices_.can_still_begin_attempt(*link_) && !is_ordered_to_leave(*link_); });
    }
  } catch (const Interrupted&) {
    notices_.leave_if_no_attempt_can_begin(*link_);
    if (is_ordered_to_leave(*link_)) {
      fail(link_->world_status() == session::WorldStatus::kFenced ? ExitCode::kStartAgain
                                                                  : ExitCode::kPreempted,
           link_->reason());
    }
    throw;
  }
  notices_.leave_if_no_attempt_can_begin(*link_);
  auto saver = checkpoint::Saver::open(locations_.home(), random_hex_name(), std::make_shared<SystemClock>(),
                                       locations_.saver_options());
  if (!saver) fail(ExitCode::kStorage, saver.error().message());
  session::skip_teardown_if([abandoned = saver->was_abandoned()] { return abandoned->load(); });
  wait_for_staged_saves(*saver, kStagedSavesTimeout);
  return *std::move(saver);
}

void Session::AttemptLoop::run(const std::function<void(Session&)>& function) {
  for (;;) {
    Session session(next());
    const session::ExitWatch watch([&] {
      const bool is_done = session.engine_->is_done();
      return report_incomplete(*session.engine_, "exit() was called within the training function",
                               is_done ? ": return from it, which completes the run"
                                       : ": to end the run early, call finish() and return");
    });
    const session::TerminateWatch unwinding([&]() -> std::optional<int> {
      if (!session.last_exception_) return std::nullopt;
      return end_and_report(*session.engine_, session.last_exception_);
    });
    try {
      function(session);
      session::exit_if_forked();
      session.refuse_early_return();
      return complete(*session.engine_);
    } catch (...) {
      session::exit_if_forked();
      end(*session.engine_);
    }
  }
}

std::unique_ptr<Session::Engine> Session::AttemptLoop::next() {
  return run_or_publish_refusal([this] { return wait_for_world(); });
}

std::unique_ptr<Session::Engine> Session::AttemptLoop::wait_for_world() {
  for (;;) {
    const Timestamp asked = clock_.now();
    Assignment assignment;
    locations_.begin_waiting();
    link_->set_thread_count(numerics_->thread_count_to_set());
    notices_.run_interruptible_wait(
        *link_, [&] { assignment = session::join_world(*link_, locations_, unreadable_checkpoints_); });
    meters_.last_recovery.join = (clock_.now() - asked).count();
    if (auto engine = begin(assignment)) return engine;
  }
}

std::unique_ptr<Session::Engine> Session::AttemptLoop::begin(const Assignment& assignment) {
  try {
    auto engine = std::make_unique<Engine>(dependencies_, assignment);
    hand_over_count_ = meters_.rejoins.handed_over;
    numerics_->begin_attempt(assignment.threads);
    if (assignment.rank.value() == 0 && !std::exchange(has_reported_options_, true)) {
      if (!options_.flags.empty())
        session::say("flags of Ratoon on the command line: " + join(options_.flags, ", "));
      session::say("seed " + std::to_string(options_.seed.value_or(0)) + " (--seed)");
      session::say(session::describe_saving(options_));
    }
    return engine;
  } catch (const Interrupted& why) {
    session::say("attempt " + std::to_string(assignment.attempt.value()) +
                 " ends before it began: " + why.what());
    ++meters_.rejoins.world_changed;
    return nullptr;
  }
}

void Session::AttemptLoop::wait_for_copies(Duration at_most, const std::function<bool()>& goes_on) {
  auto sentences = locations_.wait_for_copies(at_most, goes_on);
  locations_.move_events_to(sentences);
  for (const std::string& sentence : sentences) session::say(sentence);
}

void Session::AttemptLoop::complete(Engine& engine) {
  engine.finish();
  engine.end_reporting();
  wait_for_copies(std::chrono::seconds(options_.disk_timeout_seconds), [&engine] {
    engine.leave_if_asked_to_end();
    return true;
  });
  engine.unpin_for_late_requests();
  const session::ProcessReport& position = engine.position();
  const InventoryEntry& last = position.committed.value();  // finish() has committed it
  const CompletionRecord record{
      .attempt = position.attempt,
      .step = position.step,
      .checkpoint = {.attempt = last.attempt, .step = last.step, .digest = last.digest},
      .weights = position.weights,
      .finish_reason = position.finish_reason};
  const auto write = [member = options_.member, record] {
    return session::write_termination_record(member, record);
  };
  if (const auto written = (*locations_.calls())("writing the completion record", write); !written)
    session::say(written.error().message() + "; the completion is still reported to the coordinator");
  const auto tell = [&](const std::stop_token& leaves) { return link_->complete(position, leaves); };
  if (const auto told = notices_.run_final_report(*link_, tell); !told) {
    engine.leave_if_asked_to_end();
    // The last checkpoint is committed, so the next start resumes at the run's end and completes the run.
    fail(ExitCode::kStartAgain,
         "done, but the completion could not be reported; the next start reports it: " +
             told.error().message());
  }
  locations_.note_job_over();
}

void Session::AttemptLoop::end(Engine& engine) {
  try {
    engine.end_with_exception();
  } catch (const CheckpointUnreadable& why) {
    session::say(std::string(why.what()) + "; an older checkpoint is requested");
    unreadable_checkpoints_[why.id] = why.kind;
    ++meters_.rejoins.checkpoint_unreadable;
    if (why.kind == ErrorKind::kCorrupted) quarantine_checkpoint(locations_, why);
  } catch (const Failure& why) {
    note_job_end(why);
    if (is_ordered_to_leave(why)) {
      finish_staged_saves();
      wait_for_copies(limit_to_deadline(kFinalCopiesTimeout));
    }
    if (is_final_failure(why)) link_->publish_final_failure(why.what());
    if (why.exit_code == static_cast<int>(ExitCode::kInterruptedByUser))
      throw Failure(why.exit_code, why.what() + resume_hint(options_, engine));
    throw;
  } catch (const Interrupted& why) {
    session::say("attempt " + std::to_string(engine.assignment().attempt.value()) + " ends at step " +
                 std::to_string(engine.step().value()) + ": " + why.what());
    if (meters_.rejoins.handed_over == hand_over_count_) ++meters_.rejoins.world_changed;
    finish_staged_saves();
  }
}

int Session::AttemptLoop::end_and_report(Engine& engine, const std::exception_ptr& why) {
  try {
    try {
      std::rethrow_exception(why);
    } catch (...) {
      end(engine);
    }
  } catch (...) {
    return session::report_exception("the training function");
  }
  return static_cast<int>(ExitCode::kStartAgain);
}

Duration Session::AttemptLoop::limit_to_deadline(Duration at_most) const {
  const auto left = notices_.drain()->remaining_time(clock_.now());
  return left ? std::min(at_most, *left) : at_most;
}

void Session::AttemptLoop::finish_staged_saves() {
  wait_for_staged_saves(saver_, limit_to_deadline(kStagedSavesTimeout));
}

void Session::AttemptLoop::give_claims_back() {
  locations_.give_claims_back();
}

int Session::AttemptLoop::report_incomplete(Engine& engine, const std::string& ended_by,
                                            const std::string& how_to_end) {
  const std::exception_ptr why = engine.explain_incomplete_run(ended_by, how_to_end, true);
  engine.end_reporting();
  finish_staged_saves();
  try {
    std::rethrow_exception(why);
  } catch (...) {
    return session::report_exception("the program");
  }
}

void Session::AttemptLoop::fail_if_still_unreadable() const {
  if (unreadable_checkpoints_.empty()) return;
  const auto found = locations_.inventory();
  if (!found) fail(session::exit_code_of(found.error()), found.error().message());
  if (found->complete.empty()) return;
  const auto id = checkpoint::id_of(found->complete.front());
  const auto known = unreadable_checkpoints_.find(id);
  if (known == unreadable_checkpoints_.end()) return;
  fail(known->second == ErrorKind::kIo ? ExitCode::kStorage : ExitCode::kCheckpointsBad,
       "the next start would choose this checkpoint again: repair the disk, or move " +
           locations_.home()->shown(checkpoint::manifest_path(id)) +
           " away to continue from an older checkpoint; Ratoon does not start the run over by itself");
}

}  // namespace ratoon
