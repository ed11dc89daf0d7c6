// Begins an attempt: restores its checkpoint, and sets the position, the counters and the reported values
// with which the attempt begins.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "agent/src/checkpoint/saver/pack_writer.h"
#include "agent/src/history/last_row.h"
#include "agent/src/session/engine/engine.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/state/pretrained_state.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/threads/pause.h"

namespace ratoon {

using session::fail;

namespace {

// Returns the restored requests that are not fulfilled yet. If finish() ended the run early, the request to
// finish is fulfilled. The result does not contain a fulfilled request, even if the run now continues to
// another end.
checkpoint::PendingRequests remaining_requests(const checkpoint::RunRecord& resumed) {
  checkpoint::PendingRequests left = resumed.requests;
  if (resumed.early_end) left.finish.clear();
  return left;
}

// By default, clients of network file systems cache the list of a folder for at most 60 s.
constexpr Duration kListingCacheTimeout = std::chrono::seconds(60);
constexpr Duration kListingRetryPauseMin = std::chrono::milliseconds(200);
constexpr Duration kListingRetryPauseMax = std::chrono::seconds(5);

bool is_not_found(const Result<std::string>& restored) {
  return !restored && restored.error().kind() == ErrorKind::kNotFound;
}

// Returns whether `found` has the checkpoint; false if the location cannot be listed at present.
bool is_checkpoint_listed(const Result<checkpoint::Inventory>& found, const ResumePoint& point) {
  if (!found) return false;
  return std::ranges::any_of(std::array{&found->complete, &found->damaged, &found->given_up},
                             [&](const std::vector<InventoryEntry>* entries) {
                               return std::ranges::any_of(*entries, [&](const InventoryEntry& entry) {
                                 return entry.attempt == point.attempt && entry.step == point.step;
                               });
                             });
}

// Returns whether the first step of the attempt is the first one whose batch begins in its epoch. After a
// resume only the record knows it: a batch may reach into the next epoch, and the checkpoint may already
// contain what on_epoch_begin() changed.
bool does_step_begin_epoch(const RunPosition& position, const std::optional<checkpoint::RunRecord>& resumed) {
  if (resumed ? resumed->begins_epoch : position.samples % position.epoch_samples == 0) return true;
  // --skip may have moved the stream into a later epoch.
  return resumed && checkpoint::epoch_of(resumed) != position.samples / position.epoch_samples;
}

// Restores one object by its name, and ignores the rest of the checkpoint.
Result<void> restore_object(checkpoint::CheckpointReader& reader, const std::string& checkpoint,
                            const std::string& name, const session::TrackedObjects::Load& load,
                            const session::TrackedObjects::SeedOf& seed_of) {
  session::TrackedObjects objects;
  objects.add(name, {}, load);
  const std::size_t dot = name.find('.');
  const std::string nested = session::kNestedPrefix + name;
  const bool is_within_another =
      dot != std::string::npos && std::ranges::any_of(reader.own(), [&](const auto& tensor) {
        return tensor.name == nested || tensor.name.starts_with(nested + ".");
      });
  if (is_within_another) objects.add(name.substr(0, dot), {}, [](StateReader&) {});
  return objects.restore(reader, checkpoint, seed_of, session::LoadParts::kState);
}

}  // namespace

void Session::Engine::begin(Until until) {
  if (has_begun_) fail(ExitCode::kConfiguration, "steps() was called twice in one attempt");
  has_begun_ = true;
  data::wait_listener() = this;
  const std::uint64_t samples_before = data_ ? data().samples : 0;
  restore();
  check_followed_stream(samples_before);
  skip_excluded_samples();
  if (!options_.max_duration && until == Until::steps(std::numeric_limits<std::uint64_t>::max()))
    phase_watch_.note_unknown_end();
  begin_schedule(options_.max_duration.value_or(until));
  if (position_.committed) durable_position_ = {schedule_->position(), meters_.durable_since.at()};
  if (assignment_.resume && resumed_) {
    requests_.resume(remaining_requests(*resumed_));
    best_checkpoints_.resume(resumed_->best);
    if (is_rank_0()) requests_.resume_unpin_requests(resumed_->unpinned);
    if (is_rank_0()) look_for_best_checkpoints();
  }
  record_rollbacks();
  count_replay();
  prepare_saves();
  begin_reporting();
  // If the run is over before its first step, save the state now, because a complete run needs a last
  // checkpoint.
  if (is_done() && !position_.committed) save();
  position_.milestone = session::Milestone::kLoaded;
  enter(ProcessPhase::kCompute);
  begin_epoch();
  drain_->reinstall_signal_handlers();
  step_began_ = clock_.now();
  meters_.last_recovery.load = (step_began_ - joined_at_).count();
}

// Throws if the stream that the program gave to follow() is not tracked. After a resume, an untracked stream
// would begin at its first sample again, or, if it outlives the training function, go on after the samples of
// lost steps. `samples_before` is its position before the checkpoint was restored.
void Session::Engine::check_followed_stream(std::uint64_t samples_before) const {
  if (!assignment_.resume || !resumed_ || resumed_->samples == 0 || !data_) return;
  const std::uint64_t samples = data().samples;
  if (samples == resumed_->samples || samples != samples_before) return;
  fail(ExitCode::kConfiguration,
       "the stream of session.follow() is at sample " + std::to_string(samples) +
           ", but the checkpoint of step " + std::to_string(position_.step.value()) + " was saved after " +
           std::to_string(resumed_->samples) +
           " samples: the stream is not in the checkpoint, because it was not tracked; call "
           "session.track(\"stream\", stream) before steps() and start a run with another name (--load-from "
           "can load these weights)");
}

void Session::Engine::begin_schedule(Until until) {
  schedule_.emplace(session::RunSchedule::Rules{.until = until, .save_every = options_.save_every},
                    is_rank_0() ? session::DecisionBasis::kTime : session::DecisionBasis::kCounts);
  try {
    schedule_->begin_at(session::position_of(position_.step.value(), resumed_, data()), clock_.now());
  } catch (const std::invalid_argument& why) {
    fail(ExitCode::kConfiguration, why.what());
  }
  if (on_epoch_begin_ || on_epoch_end_) check_epochs_are_counted();
  const RunPosition& position = schedule_->position();
  if (position.epoch_samples != 0 && does_step_begin_epoch(position, resumed_))
    beginning_epoch_ = position.samples / position.epoch_samples;
  if (resumed_ && resumed_->early_end && !schedule_->is_over()) reapply_early_end();
}

void Session::Engine::reapply_early_end() {
  const checkpoint::EarlyEnd& end = *resumed_->early_end;
  const std::string until = schedule_->until().text();
  const std::string what = "finished at step " + std::to_string(position_.step.value()) + ": " + end.reason;
  if (until != end.until) {
    if (is_rank_0())
      say("the run continues to " + until + "; it earlier had the end " + end.until + " and " + what);
    return;
  }
  schedule_->end_early();
  store_finish_reason(end.reason);
  if (is_rank_0())
    say(what +
        "; set another end (--max-duration) to continue, or --overwrite true to begin again at step 0");
}

// Continues the run's ledger, which counts its time. If the ledger in the run's folder is of an older run
// with the same name, or cannot be read, the counts begin at zero.
void Session::Engine::continue_run_ledger() {
  std::optional<session::LastRecord> last;
  if (history_disk_ && (assignment_.resume || !options_.overwrite)) {
    const auto found = history::find_last_row(*history_disk_, session::kLedgerKind);
    if (found && *found) {
      if (const auto ledger = session::ledger_of((*found)->row))
        last = session::LastRecord{.attempt = (*found)->attempt, .ledger = *ledger};
    }
  }
  accounts_->continue_run_account(last, assignment_.attempt);
}

void Session::Engine::begin_reporting() {
  if (!is_rank_0()) return;
  continue_run_ledger();
  session::Reporting::ReportingStart begin{.title = options_.run_name,
                                           .attempt = assignment_.attempt,
                                           .until = schedule_->until(),
                                           .position = schedule_->position()};
  // A finished run that is started again writes no ledger row, because its time does not change.
  if (!is_at_end()) begin.ledger = [accounts = accounts_] { return accounts->run_ledger(); };
  if (resumed_ && resumed_->history_attempt != 0) {
    begin.previous_history_end = history::HistoryPosition{.attempt = Attempt(resumed_->history_attempt),
                                                          .bytes = resumed_->history_bytes};
  }
  reporting_ = std::make_unique<session::Reporting>(begin, history_disk_, clock_);
  *history_ = reporting_->history();
  if (rollback_start_ && !is_at_end())
    reporting_->append_row(session::row_of(*rollback_start_, clock_.wall_now()));
  reporting_->show_durable(durable_position_.position);
}

// Counts the steps that this process repeats after a loss, for the metrics. The operator adds the counts of
// repeated steps of other and earlier processes.
void Session::Engine::count_replay() {
  const std::uint64_t left = meters_.step.exchange(position_.step.value());
  if (left > position_.step.value()) meters_.replayed_steps += left - position_.step.value();
  const std::uint64_t samples = schedule_->position().samples;
  if (meters_.samples > samples) meters_.replayed_samples += meters_.samples - samples;
  show_progress();
}

// Another rank has found the checkpoint that this rank must load. A shared file system may show a new file on
// this machine with a delay, so this rank lists the folder again until the checkpoint appears.
Result<std::string> Session::Engine::restore_when_listed(const std::string& name,
                                                         const session::CheckpointLocations::Load& load) {
  auto restored = locations_.restore(assignment_, load);
  const Timestamp give_up = clock_.now() + kListingCacheTimeout;
  for (Duration pause = kListingRetryPauseMin; is_not_found(restored);
       pause = std::min(2 * pause, kListingRetryPauseMax)) {
    const bool is_listed = is_checkpoint_listed(locations_.inventory(), *assignment_.resume);
    if (!is_listed) {
      if (clock_.now() >= give_up) break;
      if (pause == kListingRetryPauseMin)
        say(name +
            " is visible to another rank but not yet to this rank, which checks again for up to a minute");
      pause_in_load(pause);
    }
    restored = locations_.restore(assignment_, load);
    if (is_listed) break;  // what is missing now is missing
  }
  return restored;
}

void Session::Engine::pause_in_load(Duration time) {
  constexpr Duration kSlice = std::chrono::milliseconds(100);
  for (; time > Duration(0); time -= kSlice) {
    enter(ProcessPhase::kLoad);
    check();
    static_cast<void>(pause_for(std::min(time, kSlice), {}));
  }
}

std::string Session::Engine::read_checkpoint(const ReadCheckpoint& read) {
  const std::string name = "the checkpoint of step " + std::to_string(assignment_.resume->step.value());
  auto restored =
      restore_when_listed(name, [&](checkpoint::CheckpointReader& reader) { return read(reader, name); });
  if (restored) return *std::move(restored);
  const std::string sentence =
      "the checkpoint to resume from cannot be loaded: " + restored.error().message();
  // A read error of the disk also counts as damage, so that the run resumes from an older checkpoint.
  const ErrorKind kind = restored.error().kind();
  const bool is_bad = kind == ErrorKind::kCorrupted || kind == ErrorKind::kNotFound ||
                      kind == ErrorKind::kIo || kind == ErrorKind::kInvalid;
  if (!is_bad) fail(ExitCode::kStorage, sentence);
  throw CheckpointUnreadable(assignment_.attempt,
                             {.attempt = assignment_.resume->attempt, .step = assignment_.resume->step}, kind,
                             sentence);
}

bool Session::Engine::peek(const std::string& name, std::function<void(StateReader&)> load) {
  if (has_begun_) {
    fail(ExitCode::kConfiguration,
         "peek('" + name +
             "') was called after steps(), which has loaded the tracked objects: call peek() before "
             "steps(), or read the tracked object");
  }
  fixed_shapes_.allow_changes();
  if (!assignment_.resume) return false;
  read_checkpoint([&](checkpoint::CheckpointReader& reader, const std::string& checkpoint) {
    return restore_object(reader, checkpoint, name, load,
                          [this](std::string_view generator) { return seed_of(generator); });
  });
  return true;
}

void Session::Engine::restore() {
  if (!assignment_.resume) {
    begin_new_run();
    if (start_snapshot_) start_snapshot_->begin(tracked_objects_, assignment_);
    return;
  }
  if (start_snapshot_) start_snapshot_->forget();
  const auto& rejoins = meters_.rejoins;
  const bool is_first_attempt =
      rejoins.world_changed + rejoins.handed_over + rejoins.checkpoint_unreadable == 0;
  if (options_.overwrite && is_rank_0() && is_first_attempt) {
    say("--overwrite is true, and the run goes on from step " +
        std::to_string(assignment_.resume->step.value()) +
        ", because a coordinator decides when a run begins anew: use `ratoon run --fresh`, or another "
        "folder");
  }
  checkpoint::PackRecord pack;
  const std::string tier =
      read_checkpoint([&](checkpoint::CheckpointReader& reader, const std::string& name) {
        resumed_ = reader.run();
        pack = reader.own_pack_record();
        const auto seed = [this](std::string_view generator) { return seed_of(generator); };
        return tracked_objects_.restore(reader, name, seed, session::LoadParts::kAll, assignment_.world_size);
      });
  if (locations_.has_restored_from_home())
    saver_.use_parts_of({.attempt = assignment_.resume->attempt, .step = assignment_.resume->step}, pack);
  position_.step = assignment_.resume->step;
  saved_step_ = position_.step;
  position_.committed = InventoryEntry{.tier = tier,
                                       .attempt = assignment_.resume->attempt,
                                       .step = assignment_.resume->step,
                                       .digest = assignment_.resume->digest,
                                       .is_complete = true};
  report_numerics_changes();
}

void Session::Engine::begin_new_run() {
  // A job with --overwrite starts from step 0 only once. The coordinator decides which attempt starts from
  // step 0, and names no checkpoint in the assignment of that attempt.
  const bool is_requested = options_.overwrite && !options_.member.coordinator_url.empty();
  if (is_requested && is_rank_0()) locations_.move_old_checkpoints_away(assignment_.attempt);
  if (options_.load_from.empty()) return;
  if (!is_requested) check_no_checkpoints_left();
  auto begun = session::load_initial_state(options_, assignment_, tracked_objects_, locations_.calls());
  const char* const parts = begun.parts == session::LoadParts::kWeights ? "the weights of "
                            : begun.parts == session::LoadParts::kState ? "the state (not the position) of "
                                                                        : "all of ";
  session::say(std::string("the run begins with ") + parts + begun.from);
  if (begun.parts != session::LoadParts::kAll) return;
  position_.step = begun.step;
  resumed_ = std::move(begun.run);
  report_numerics_changes();
}

void Session::Engine::report_numerics_changes() {
  if (!numerics_) return;
  if (const std::string why = numerics_->resume(resumed_); !why.empty()) say(why);
}

void Session::Engine::check_no_checkpoints_left() const {
  const auto found = locations_.inventory();
  if (!found) fail(session::exit_code_of(found.error()), found.error().message());
  if (!found->complete.empty() || !found->damaged.empty() || !found->given_up.empty()) {
    fail(ExitCode::kCheckpointsBad,
         "the run has checkpoints but resumes from none of them, and --load-from does not start such a run "
         "again at step 0");
  }
}

void Session::Engine::prepare_saves() {
  if (is_at_end() && position_.committed) return;  // begin() saves a run that is over and has no checkpoint
  const session::CollectedState state = tracked_objects_.collect();
  session::TrackedObjects::check_all_tracked(state);
  fixed_shapes_.begin(state);
  for (const std::string& name : state.objects_without_tensors)
    if (is_rank_0())
      say("'" + name + "' is tracked and has no tensors: check that its submodules are registered");
  if (const auto image = checkpoint::lay_out_image(state.tensors)) {
    saver_.prepare(image->layout.file_bytes());
    drain_->begin_attempt(image->layout.file_bytes());
  }
}

}  // namespace ratoon
