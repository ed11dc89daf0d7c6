// What an attempt saves, what it hears of it, and how it ends with all of that committed.
#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "agent/src/checkpoint/disk/replacing_file.h"
#include "agent/src/checkpoint/inventory.h"
#include "agent/src/session/control_word.h"
#include "agent/src/session/engine.h"
#include "agent/src/session/fail.h"
#include "agent/src/session/final_weights.h"
#include "agent/src/session/say.h"
#include "base/core/utf8.h"

namespace ratoon {

using session::fail;

namespace {

constexpr auto kHandOverPatience = std::chrono::seconds(60);
constexpr auto kCommitPause = std::chrono::milliseconds(10);

}  // namespace

void Session::Engine::save(std::uint32_t agreed) {
  const Timestamp began = clock_.now();
  enter(ProcessPhase::kSave);
  // What is asked for until now is served by this save, whoever asked for it and why ever it is made.
  served_save_request_ = link_.wanted().save_request;
  const session::CollectedState state = tracked_.collect();
  auto record = run_record();
  const bool is_kept = (agreed & session::control::kKeep) != 0;
  if (record && is_kept) {
    const std::string why = asked_ && !asked_->keep.empty() ? asked_->keep : "another rank says so";
    record->keep = cut_text(why, checkpoint::kReasonBytesMax);
  }
  // One that fails is in the saver's books: see look_at_saves().
  static_cast<void>(saver_.save(position_.step, state.tensors, record, take_ticket(agreed)));
  saved_.push_back({.position = course_->position(), .began = began});
  saved_step_ = position_.step;
  course_->note_save(began);
  save_costs_.stall = clock_.now() - began;
  meters_.save_stall.add(save_costs_.stall);
  drain_->note_save(began, save_costs_.stall);
}

checkpoint::Ticket Session::Engine::take_ticket(std::uint32_t agreed) {
  // Asked for after the ranks had agreed, and to be kept: that is the step after.
  const bool is_it = asked_ && (asked_->keep.empty() || (agreed & session::control::kKeep) != 0);
  if (!is_it) return {};
  return std::exchange(asked_, std::nullopt)->ticket;
}

std::optional<checkpoint::RunRecord> Session::Engine::run_record() {
  if (!is_first()) return std::nullopt;
  auto record = session::record_of(course_->position());
  if (const auto place = reporting_ ? reporting_->history_place() : std::nullopt) {
    record.history_attempt = place->attempt.value();
    record.history_bytes = place->bytes;
  }
  if (is_finished_)
    record.early_end = checkpoint::EarlyEnd{.reason = cut_text(finish_reason_, checkpoint::kReasonBytesMax),
                                            .until = course_->until().text()};
  if (numerics_) record.numerics = numerics_->now();
  record.seed = seed();
  return record;
}

// Known at the end of a step, which may be long after it: that time is none of the disk's.
void Session::Engine::note_commit(Step step, Duration ago) {
  const auto is_it = [step](const Saved& one) { return one.position.steps == step.value(); };
  const auto found = std::find_if(saved_.begin(), saved_.end(), is_it);
  if (found == saved_.end()) return;
  durable_before_ = std::exchange(durable_, {found->position, clock_.now()});
  show_durable();
  save_costs_.write = std::max(Duration(0), clock_.now() - found->began - ago);
  drain_->note_commit(save_costs_.write);
  // An attempt that ended without a hand-over and one that did are not told apart: rather too often.
  save_costs_.losses = assignment_.attempt.value() - 1;
  save_costs_.observed = course_->position().trained;
  course_->set_save_interval(preemption::save_interval(save_costs_));
  saved_.erase(saved_.begin(), found + 1);
}

void Session::Engine::take_durable(const checkpoint::SaveProgress& progress) {
  const auto id_of = [](const auto& entry) {
    return entry ? std::optional(checkpoint::id_of(*entry)) : std::nullopt;
  };
  position_.damaged = progress.damaged;
  const auto before = id_of(std::exchange(position_.committed, progress.committed));
  const auto now = id_of(progress.committed);
  if (now > before) note_commit(now->step, progress.since_commit);
  if (now >= before) return;
  durable_ = durable_before_;
  meters_.durable_step = now ? now->step.value() : 0;
  show_durable();
}

void Session::Engine::show_durable() {
  meters_.durable_since.set(durable_.since);
  if (reporting_) reporting_->show_durable(durable_.position);
}

checkpoint::SaveProgress Session::Engine::look_at_saves() {
  auto progress = saver_.poll();
  places_.move_events_to(progress.events);
  if (reporting_ && reporting_->history()) {
    if (auto event = reporting_->history()->take_event(); !event.empty()) progress.events.push_back(event);
  }
  if (reporting_ && !progress.events.empty()) reporting_->make_room();
  for (const std::string& event : progress.events) session::say(event);
  meters_.missed_saves = progress.missed;
  meters_.stale_saves = progress.stale;
  drain_->note_staged(!progress.is_written);
  if (progress.committed || !progress.damaged.empty()) take_durable(progress);
  if (progress.must_end) fail(ExitCode::kStorage, "nothing can be saved any more: " + progress.last_error);
  if (progress.missed_in_a_row > options_.max_missed_saves) {
    fail(ExitCode::kStorage, "nothing can be saved: " + std::to_string(progress.missed_in_a_row) +
                                 " saves in a row were missed, and " +
                                 std::to_string(options_.max_missed_saves) +
                                 " may be (--max-missed-saves): " + progress.last_error);
  }
  return progress;
}

bool Session::Engine::wait_for_commits(std::optional<Duration> at_most, bool needs_world) {
  const Timestamp began = clock_.now();
  auto progress = look_at_saves();
  while (!progress.is_committed) {
    enter(ProcessPhase::kSave);  // a commit is told at once
    if (needs_world) check();
    if (progress.is_stuck) {
      fail(ExitCode::kStorage,
           "the disk has not answered for " + std::to_string(options_.disk_patience_seconds) +
               " s (--disk-patience), and what was saved is not on it: see " + options_.save_folder);
    }
    if (at_most && clock_.now() - began > *at_most) break;
    std::this_thread::sleep_for(kCommitPause);
    progress = look_at_saves();
  }
  enter(ProcessPhase::kSave);
  meters_.save_stall.add(clock_.now() - began);
  return progress.is_committed && !progress.is_newest_lost;
}

void Session::Engine::stop(std::uint32_t agreed) {
  // Ranks that are done first have left: that changes the world, and is nothing to us.
  const bool is_committed = wait_for_commits(drain_->time_to_commit(clock_.now()), false);
  throw drain_->farewell(agreed, position_.step, is_committed);
}

void Session::Engine::hand_over() {
  ++meters_.rejoins.handed_over;
  const bool is_committed = wait_for_commits(kHandOverPatience);
  const std::string step = std::to_string(position_.step.value());
  if (is_committed) throw Interrupted("handed over at step " + step + ": a replacement is ready");
  throw Interrupted("handed over at step " + step + ", but its checkpoint was not committed within " +
                    std::to_string(kHandOverPatience.count()) +
                    " s: an older one is resumed from; see why not all ranks could save");
}

void Session::Engine::save_the_last() {
  if (course_ && saved_step_ != position_.step) save();
}

void Session::Engine::finish() {
  // What is tracked lived in the function and may be gone: steps after the last save are not in it.
  if (wait_for_commits(std::nullopt)) return leave_weights();
  fail(ExitCode::kStorage,
       "the last checkpoint of the training could not be saved, so that it is not done: " +
           look_at_saves().last_error);
}

void Session::Engine::leave_weights() {
  const auto file = session::final_weights_file(options_);
  if (!is_first() || file.empty() || !position_.committed || !tracked_.has_weights()) return;
  Assignment alone = assignment_;
  alone.world_size = 1;
  alone.resume = ResumePoint{.attempt = position_.committed->attempt,
                             .step = position_.committed->step,
                             .digest = position_.committed->digest};
  const auto is_weight = [this](std::string_view name) { return tracked_.is_weight(name); };
  const auto create = [&] { return checkpoint::replace_patiently(file, places_.calls()); };
  // What is wrong with the file is nothing that another copy of the checkpoint would mend.
  Result<std::size_t> written = Error(ErrorKind::kIo, "nothing was read");
  try {
    const auto read = places_.restore(alone, [&](checkpoint::CheckpointReader& reader) -> Result<void> {
      written = session::write_final_weights(reader, is_weight, options_.run_name, *alone.resume, create);
      const bool is_of_checkpoint = !written && written.error().kind() == ErrorKind::kCorrupted;
      return is_of_checkpoint ? Result<void>(written.error()) : Result<void>();
    });
    if (!read) written = read.error();
  } catch (const std::exception& why) {
    written = Error(ErrorKind::kIo, why.what());
  }
  if (!written) {
    say("the weights are not left in " + file.string() + ": " + written.error().message() +
        "; `ratoon checkpoint export` does it");
  } else if (*written != 0) {
    if (file.native().size() <= kWeightsBytesMax) position_.weights = file.string();
    say("the weights of step " + std::to_string(alone.resume->step.value()) + " are in " + file.string());
  }
}

}  // namespace ratoon
