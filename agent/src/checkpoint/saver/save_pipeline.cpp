#include "agent/src/checkpoint/saver/save_pipeline.h"

#include <algorithm>
#include <utility>

#include "agent/src/checkpoint/disk/disk_with_timeout.h"
#include "base/core/threads/pause.h"

namespace ratoon::checkpoint {
Result<std::shared_ptr<SavePipeline>> SavePipeline::open(std::shared_ptr<Disk> disk, const std::string& mark,
                                                         std::shared_ptr<const Clock> clock,
                                                         const SaverOptions& options) {
  // Create the folders here with a timeout, because the training thread runs this code and must not hang when
  // the disk hangs.
  if (options.calls) {
    const auto made = RunStore::open(add_timeout(disk, options.calls), mark);
    if (!made) return made.error();
  }
  auto watch = std::make_shared<CallTimer>(clock);
  auto watched = watch_disk(std::move(disk), watch);
  auto store = RunStore::open(watched, mark, options.owner);
  if (!store) return store.error();
  if (options.pass_progress_callback) options.pass_progress_callback([watch] { watch->record_progress(); });
  std::shared_ptr<SavePipeline> work(new SavePipeline({.watch = std::move(watch),
                                                       .disk = std::move(watched),
                                                       .mark = mark,
                                                       .store = *std::move(store),
                                                       .clock = std::move(clock)},
                                                      options));
  if (!options.slots_folder.empty()) {
    // No other thread has the pipeline yet, but adopt_slots() and the functions that it calls require the
    // lock.
    const MutexLock lock(work->mutex_);
    if (auto adopted = work->adopt_slots(); !adopted) return adopted.error();
  }
  return work;
}

SavePipeline::SavePipeline(PipelineResources places, const SaverOptions& options)
    : resources_(std::move(places)), options_(options) {}

SavePipeline::~SavePipeline() {
  for (std::size_t i = 0; i < slots_.size() && !must_end_; ++i) {
    if (slot_table_[i].state == SlotState::kFree || slot_table_[i].state == SlotState::kFilling)
      free_slot_memory(slots_[i]);
  }
}

void SavePipeline::begin_attempt(const SaveContext& world) {
  MutexLock lock(mutex_);
  save_context_ = world;
  newest_saved_.reset();
  progress_.committed.reset();
  progress_.damaged.clear();
  progress_.votes.reset();
  progress_.is_newest_save_lost = false;
  stale_save_check_.forget();
  known_parts_ = std::make_shared<const CommittedParts>();
  const Error is_over(ErrorKind::kCancelled, "another attempt has begun before this save was committed");
  for (std::size_t i = 0; i < slot_table_.size(); ++i) {
    if (slot_table_[i].state != SlotState::kStaged || slot_table_[i].pack.id.attempt >= world.attempt)
      continue;
    slots_[i].ticket.fail(is_over);
    slot_table_.discard(i);
    slots_[i].slab.write_info(slot_table_[i]);
  }
  std::erase_if(pending_commits_, [&](const PendingCommit& one) {
    const bool is_old = one.pack.id.attempt < world.attempt;
    if (is_old) one.ticket.fail(is_over);
    return is_old;
  });
  changed_.notify_all();
}

void SavePipeline::prepare(std::uint64_t image_bytes) {
  const MutexLock lock(mutex_);
  prepared_bytes_ = std::max(prepared_bytes_, image_bytes);
  changed_.notify_all();
}

bool SavePipeline::is_stuck() const {
  const auto current_call_duration = resources_.watch->current_call_duration();
  return current_call_duration && *current_call_duration > options_.disk_timeout;
}

bool SavePipeline::has_written_all() const {
  return slot_table_.count(SlotState::kStaged) + slot_table_.count(SlotState::kWriting) == 0 &&
         !is_writing_ &&
         std::ranges::all_of(pending_commits_, [](const PendingCommit& one) { return one.was_commit_tried; });
}

void SavePipeline::wait_for_change(Duration at_most) {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, limit_to_one_year(at_most));
}

bool SavePipeline::is_written() const {
  const MutexLock lock(mutex_);
  return has_written_all();
}

SaveProgress SavePipeline::progress() {
  const MutexLock lock(mutex_);
  progress_.is_written = has_written_all();
  progress_.is_committed = progress_.is_written && pending_commits_.empty();
  progress_.waits_for_other_ranks =
      !pending_commits_.empty() &&
      slot_table_.count(SlotState::kStaged) + slot_table_.count(SlotState::kWriting) == 0;
  progress_.is_stuck = is_stuck() || must_end_;
  progress_.must_end_process = must_end_;
  if (progress_.committed) progress_.time_since_commit = resources_.clock->now() - committed_at_;
  SaveProgress now = progress_;
  progress_.events.clear();
  return now;
}

void SavePipeline::ask_for_votes() {
  const MutexLock lock(mutex_);
  are_votes_requested_ = true;
  changed_.notify_all();
}

void SavePipeline::give_up(const Error& why) {
  const MutexLock lock(mutex_);
  must_end_ = true;
  progress_.last_error = why.message();
  changed_.notify_all();
}

void SavePipeline::stop() {
  const MutexLock lock(mutex_);
  is_stopping_ = true;
  changed_.notify_all();
}

}  // namespace ratoon::checkpoint
