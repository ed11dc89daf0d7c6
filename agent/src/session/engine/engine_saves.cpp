// Saves checkpoints in an attempt, checks the results, and waits at the attempt's end until the checkpoints
// are committed.
#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/session/engine/control_word.h"
#include "agent/src/session/engine/engine.h"
#include "agent/src/session/engine/final_commit_wait.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/telemetry/say.h"

namespace ratoon {

using session::fail;

namespace {

// The engine reports uncommitted saves if there are at least kReportedUncommittedMin of them. Full staging
// slots and slow ranks cannot explain so many uncommitted saves.
constexpr std::size_t kReportedUncommittedMin = 8;
constexpr int kUsualWriteFactor = 10;
constexpr int kOwnWorkFactor = 2;  // a rank waits for others this many times as long as its own work takes
constexpr auto kOtherRanksTimeoutMin = std::chrono::hours(1);
constexpr auto kCommitPollPause = std::chrono::milliseconds(10);

// Returns the reason for a pin or for finish(). If `own` is empty, another rank made the request for the pin
// or the end, and the receipt of that rank has the reason.
std::string reason_or_other_rank(const std::string& own) {
  return own.empty() ? std::string(checkpoint::kReasonOfAnotherRank) : own;
}

}  // namespace

void Session::Engine::save(std::uint32_t agreed) {
  for (const auto& check : before_saves_) check();
  const Timestamp began = clock_.now();
  pending_saves_.push_back({.position = schedule_->position(), .began = began});
  enter(ProcessPhase::kSave);
  // This save fulfils all earlier requests for a save, including those of the coordinator.
  last_served_save_request_ = link_.outside_requests().save_request;
  const session::CollectedState state = tracked_objects_.collect();
  // Check again that all state is tracked, because the program may have added parameters to an optimizer
  // since the last save.
  session::TrackedObjects::check_all_tracked(state);
  fixed_shapes_.check(state);
  // If the save fails, the saver records the error, and poll_saves() reads it.
  static_cast<void>(saver_.save(position_.step, state.tensors, run_record(agreed),
                                requests_.take_ticket().value_or(checkpoint::SavePromise())));
  saved_step_ = position_.step;
  must_report_uncommitted_ =
      pending_saves_.size() >= kReportedUncommittedMin && std::has_single_bit(pending_saves_.size());
  if (must_report_uncommitted_) saver_.ask_for_votes();
  schedule_->note_save(began);
  save_costs_.stall = clock_.now() - began;
  meters_.save_stall.add(save_costs_.stall);
  drain_->note_save(began, save_costs_.stall);
}

std::optional<checkpoint::RunRecord> Session::Engine::run_record(std::uint32_t agreed) {
  const checkpoint::CheckpointId id{.attempt = assignment_.attempt, .step = position_.step};
  const checkpoint::PendingRequests& due = requests_.due();
  const auto& unpinned = requests_.record_unpin_requests(id);
  const bool has_requests = !requests_.pending().is_empty() || !due.keep.empty() || !due.finish.empty();
  if (!is_rank_0() && !has_requests && unpinned.empty()) return std::nullopt;
  auto record = session::record_of(schedule_->position());
  record.requests = requests_.pending();
  record.unpinned = unpinned;
  record.begins_epoch = beginning_epoch_.has_value();
  if (!is_rank_0()) {
    record.keep = due.keep;
    if (!due.finish.empty()) record.early_end = early_end(due.finish);
    return record;
  }
  if (const auto place = reporting_ ? reporting_->history_end_position() : std::nullopt) {
    record.history_attempt = place->attempt.value();
    record.history_bytes = place->bytes;
  }
  if (was_end_agreed_) record.early_end = early_end(reason_or_other_rank(due.finish));
  const std::string best = best_checkpoints_.record_saved(id);
  record.keep = (agreed & session::control::kPinCheckpoint) != 0 ? reason_or_other_rank(due.keep) : best;
  record.best = best_checkpoints_.lists();
  if (numerics_) record.numerics = numerics_->current_numerics();
  record.seed = seed();
  return record;
}

checkpoint::EarlyEnd Session::Engine::early_end(const std::string& reason) const {
  return {.reason = reason, .until = schedule_->until().text()};
}

bool Session::Engine::is_save_under_way() const {
  return !pending_saves_.empty() && clock_.now() - pending_saves_.back().began < drain_->commit_timeout();
}

void Session::Engine::note_saves_under_way() {
  const Duration longest = drain_->longest_commit();
  position_.save_seconds = longest > Duration(0) ? std::optional(seconds(longest)) : std::nullopt;
  position_.saving_since =
      pending_saves_.empty() ? std::nullopt : std::optional(pending_saves_.front().began);
}

// The session notices a commit only at the end of a step, when the time `ago` has passed since the commit.
// The measured duration of the save does not include the time since the commit, `ago`.
void Session::Engine::note_commit(Step step, Duration ago) {
  const auto is_it = [step](const Saved& one) { return one.position.steps == step.value(); };
  const auto found = std::find_if(pending_saves_.begin(), pending_saves_.end(), is_it);
  if (found == pending_saves_.end()) return;
  previous_durable_ = std::exchange(durable_position_, {found->position, clock_.now()});
  show_durable();
  save_costs_.write = std::max(Duration(0), clock_.now() - found->began - ago);
  drain_->note_commit(save_costs_.write);
  // Hand-overs to a replacement also count as losses of processes, because the attempt number counts both. If
  // losses are overcounted, saves are only a little more frequent than needed.
  save_costs_.losses = assignment_.attempt.value() - 1;
  save_costs_.observed = schedule_->position().trained;
  schedule_->set_save_interval(preemption::save_interval(save_costs_));
  pending_saves_.erase(pending_saves_.begin(), found + 1);
}

void Session::Engine::update_durable(const checkpoint::SaveProgress& progress) {
  const auto id_of = [](const auto& entry) {
    return entry ? std::optional(checkpoint::id_of(*entry)) : std::nullopt;
  };
  position_.damaged = progress.damaged;
  if (start_snapshot_ && progress.committed) start_snapshot_->forget();
  const auto before = id_of(std::exchange(position_.committed, progress.committed));
  const auto now = id_of(progress.committed);
  if (now > before) note_commit(now->step, progress.time_since_commit);
  if (now >= before) return;
  durable_position_ = previous_durable_;
  meters_.durable_step = now ? now->step.value() : 0;
  show_durable();
}

bool Session::Engine::is_checkpoint_missing(const checkpoint::CheckpointId& id) {
  const bool is_under_way =
      id.attempt == assignment_.attempt && (!position_.committed || id.step > position_.committed->step);
  if (is_under_way || committed_ids_.contains(id)) return false;
  const auto look = [home = locations_.home(), path = checkpoint::manifest_path(id)]() -> Result<bool> {
    const auto file = home->open(path);
    if (file) return true;
    if (file.error().kind() == ErrorKind::kNotFound) return false;
    return file.error();
  };
  const auto exists = (*locations_.calls())("looking for a checkpoint of save_best()", look);
  if (exists && *exists) committed_ids_.insert(id);
  return exists && !*exists;
}

void Session::Engine::look_for_best_checkpoints() {
  for (const checkpoint::BestCheckpointList& list : best_checkpoints_.lists()) {
    for (const checkpoint::BestCheckpoint& one : list.kept | std::views::take(list.keep)) {
      if (!is_checkpoint_missing(one.id)) continue;
      const auto is_stored = locations_.is_in_store(one.id);
      if (!is_stored || *is_stored) committed_ids_.insert(one.id);
    }
  }
}

void Session::Engine::show_durable() {
  meters_.durable_since.set(durable_position_.since);
  if (reporting_) reporting_->show_durable(durable_position_.position);
}

checkpoint::SaveProgress Session::Engine::poll_saves() {
  auto progress = saver_.poll();
  locations_.move_events_to(progress.events);
  if (reporting_ && reporting_->history()) {
    if (auto event = reporting_->history()->take_event(); !event.empty()) progress.events.push_back(event);
  }
  if (reporting_ && !progress.events.empty()) reporting_->clear_progress_bar();
  for (const std::string& event : progress.events) session::say(event);
  meters_.missed_saves = progress.missed_saves;
  meters_.unchanged_saves = progress.stale_saves;
  drain_->note_staged(!progress.is_written);
  if (progress.committed || !progress.damaged.empty()) update_durable(progress);
  if (progress.is_committed) pending_saves_.clear();  // the remaining ones were missed
  if (must_report_uncommitted_ && progress.votes && progress.votes->id.step == saved_step_) {
    must_report_uncommitted_ = false;
    say(std::to_string(pending_saves_.size()) +
        " saves are not committed, so a start would not resume from them: " +
        session::describe_final_wait(progress.votes, locations_.home()->shown("")));
  }
  if (progress.must_end_process)
    fail(ExitCode::kStorage, "nothing can be saved any longer: " + progress.last_error);
  if (progress.missed_saves_in_a_row > options_.max_missed_saves) {
    fail(ExitCode::kStorage, "nothing can be saved: " + std::to_string(progress.missed_saves_in_a_row) +
                                 " saves in a row were missed, and the limit is " +
                                 std::to_string(options_.max_missed_saves) +
                                 " (--max-missed-saves): " + progress.last_error);
  }
  return progress;
}

void Session::Engine::fail_if_stuck(const checkpoint::SaveProgress& progress) const {
  if (!progress.is_stuck) return;
  fail(ExitCode::kStorage, "the disk has not answered for " + std::to_string(options_.disk_timeout_seconds) +
                               " s (--disk-timeout), and it does not have all saves yet: see " +
                               options_.save_folder);
}

bool Session::Engine::wait_for_commits_in_any_world(Duration at_most) {
  session::FinalCommitWait wait(clock_.now(), at_most);
  return wait_until_committed(at_most, [&](const checkpoint::SaveProgress& progress) {
    const Timestamp now = clock_.now();
    if (wait.is_check_due(now)) saver_.ask_for_votes();
    wait.note_votes(now, progress.votes);
    if (wait.is_report_due(now))
      say("before its end, this process waits for the last checkpoint: " +
          session::describe_final_wait(wait.votes(), locations_.home()->shown("")));
  });
}

bool Session::Engine::wait_until_committed(std::optional<Duration> at_most, const OnSaveProgress& look) {
  const Timestamp began = clock_.now();
  auto progress = poll_saves();
  while (!progress.is_committed) {
    enter(ProcessPhase::kSave);  // reports a commit at once
    look(progress);
    fail_if_stuck(progress);
    if (at_most && clock_.now() - began > *at_most) break;
    std::this_thread::sleep_for(kCommitPollPause);
    progress = poll_saves();
  }
  enter(ProcessPhase::kSave);
  meters_.save_stall.add(clock_.now() - began);
  return progress.is_committed && !progress.is_newest_save_lost;
}

// A rank that validates, or sends a large checkpoint file to a store, cannot be distinguished from a rank
// that will never save. Returns how long to wait for the last checkpoint: at least as long as a validation or
// a transfer of another rank may take.
Duration Session::Engine::last_commit_timeout() const {
  const Duration of_work = std::max<Duration>(kOtherRanksTimeoutMin, kUsualWriteFactor * save_costs_.write);
  return std::chrono::seconds(options_.disk_timeout_seconds) + of_work;
}

bool Session::Engine::wait_for_last_commit() {
  session::FinalCommitWait wait(clock_.now(), last_commit_timeout());
  std::optional<Timestamp> leaves;
  const auto look = [&](const checkpoint::SaveProgress& progress) {
    check();
    const Timestamp now = clock_.now();
    if (wait.is_check_due(now)) saver_.ask_for_votes();
    if (!progress.waits_for_other_ranks) wait.note_own_work(now);
    wait.note_votes(now, progress.votes);
    leave_if_overdue(leaves, now);
    if (wait.is_report_due(now))
      say("the end of the run waits for the last checkpoint: " +
          session::describe_final_wait(wait.votes(), locations_.home()->shown("")));
    if (!wait.is_over(now)) return;
    fail(ExitCode::kStorage,
         "the last checkpoint is not committed, and none of its files has changed for " +
             std::to_string(wait.patience() / std::chrono::seconds(1)) +
             " s (--disk-timeout plus the longer of an hour and ten times the last commit): " +
             session::describe_final_wait(wait.votes(), locations_.home()->shown("")));
  };
  return wait_until_committed(std::nullopt, look);
}

void Session::Engine::leave_if_overdue(std::optional<Timestamp>& leaves, Timestamp now) {
  drain_->receive_order(link_.outside_requests(), now);
  if (!drain_->find_exit_code_of_return(now)) return leaves.reset();
  const Timestamp by = now + drain_->remaining_commit_time(now);
  leaves = std::min(leaves.value_or(by), by);
  if (now >= *leaves) leave_if_asked_to_end();
}

void Session::Engine::leave_if_asked_to_end() {
  const Timestamp now = clock_.now();
  drain_->receive_order(link_.outside_requests(), now);
  if (const auto code = drain_->find_exit_code_of_return(now))
    fail(*code, "left at step " + std::to_string(position_.step.value()) + " because it was told to leave; " +
                    describe_saved());
}

void Session::Engine::save_and_exit(std::uint32_t agreed) {
  // Wait for commits even if the set of processes changes, because other ranks may finish and leave earlier.
  const bool is_committed = wait_for_commits_in_any_world(drain_->remaining_commit_time(clock_.now()));
  throw drain_->exit_for_drain(agreed, position_.step, is_committed);
}

// Waits as long as files of the checkpoint change, because other ranks may write for a long time.
void Session::Engine::hand_over() {
  ++meters_.rejoins.handed_over;
  std::optional<Timestamp> leaves;
  const Timestamp began = clock_.now();
  session::FinalCommitWait wait(began, drain_->commit_timeout());
  const bool is_committed = wait_until_committed(std::nullopt, [&](const checkpoint::SaveProgress& progress) {
    check();
    const Timestamp now = clock_.now();
    if (wait.is_check_due(now)) saver_.ask_for_votes();
    if (!progress.waits_for_other_ranks) {
      wait.note_own_work(now);
      wait.extend_timeout(kOwnWorkFactor * (now - began));
    }
    wait.note_votes(now, progress.votes);
    if (wait.is_report_due(now))
      say("the hand-over to a replacement process waits for its checkpoint: " +
          session::describe_final_wait(wait.votes(), locations_.home()->shown("")));
    leave_if_overdue(leaves, now);
    if (!wait.is_over(now)) return;
    throw AttemptOver(assignment_.attempt,
                      "handed over at step " + std::to_string(position_.step.value()) +
                          ", but its checkpoint was not committed, and none of its files changed for " +
                          std::to_string(wait.patience() / std::chrono::seconds(1)) +
                          " s: the run resumes from an older one; find out why not all ranks could save");
  });
  const std::string step = std::to_string(position_.step.value());
  if (is_committed)
    throw AttemptOver(assignment_.attempt, "handed over at step " + step + ": a replacement is ready");
  throw AttemptOver(assignment_.attempt,
                    "handed over at step " + step +
                        ", but its checkpoint was not committed, so the run resumes from an older one: " +
                        poll_saves().last_error);
}

}  // namespace ratoon
