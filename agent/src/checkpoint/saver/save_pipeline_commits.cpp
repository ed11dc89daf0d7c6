// The functions of SavePipeline with which the writer thread commits checkpoints and removes old ones.
#include <algorithm>
#include <utility>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/saver/save_pipeline.h"

namespace ratoon::checkpoint {
namespace {

// A lease is the time for which a claim of a job lasts without a renewal. If a process is suspended for
// longer than a lease, another job may take over the folder or store, and the process may later try to
// commit. Check right before the commit that this job still owns the folder or store, so that it writes no
// manifest into a folder or store of another job. The caller checks the ownership again after the commit,
// because the process may be suspended between the first check and the commit.
Result<std::optional<InventoryEntry>> commit_if_owned(const Disk& disk, const RunStore& store,
                                                      const StagedPack& pack,
                                                      std::vector<PackRecord>& receipts,
                                                      const std::function<Result<void>()>& confirm) {
  const auto are_there =
      confirm ? read_receipts(disk, pack.id, pack.world_size, receipts) : Result<bool>(false);
  if (are_there && *are_there)
    if (const auto confirmed = confirm(); !confirmed) return confirmed.error();
  return store.try_commit(pack.id, pack.world_size, receipts);
}

}  // namespace

std::string step_text(const CheckpointId& id) {
  return "step " + std::to_string(id.step.value());
}

// When a checkpoint is committed, the process stops waiting for the commits of all older checkpoints. A rank
// that commits goes through the checkpoints from the oldest to the newest and skips checkpoints that can
// never be complete. A rank that does not commit looks for the newest checkpoint first, because older
// checkpoints may have been removed since its last check.
bool SavePipeline::advance_commits(MutexLock& lock) {
  if (pending_commits_.empty() || (!is_stopping_ && resources_.clock->now() < commit_not_before_))
    return false;
  const bool is_in_order = pending_commits_.front().is_committer;
  bool are_older_settled = false;
  for (std::size_t k = 0; k < pending_commits_.size();) {
    const std::size_t i = is_in_order ? k : pending_commits_.size() - 1 - k;
    const StagedPack pack = pending_commits_[i].pack;
    const bool commits = pending_commits_[i].is_committer;
    const auto receipts = pending_commits_[i].receipts;
    // Every rank writes its packs in the order of their checkpoints. When all ranks have written their packs
    // of this checkpoint, no rank writes a receipt of an older checkpoint any longer. First try again to
    // commit the older checkpoints: since the last try, a rank may have written its receipt of an older
    // checkpoint.
    if (commits && i > 0 && !are_older_settled && has_all_votes(lock, pack, *receipts)) {
      are_older_settled = true;
      k = 0;
      continue;
    }
    if (i >= pending_commits_.size() || pending_commits_[i].pack.id != pack.id)
      return true;  // an attempt began meanwhile
    const bool is_of_now = save_context_ && save_context_->attempt == pack.id.attempt;
    const auto before_commit = is_of_now && commits ? save_context_->before_commit : nullptr;
    const auto confirm = save_context_ ? save_context_->confirm_ownership : nullptr;
    const auto find_store_copy = is_of_now && !commits ? save_context_->find_store_copy : nullptr;
    auto committed = without_lock(lock, [&] {
      if (before_commit) before_commit();
      if (commits) return commit_if_owned(*resources_.disk, resources_.store, pack, *receipts, confirm);
      auto found = resources_.store.find(pack.id);
      // If this rank's own receipt no longer exists, the checkpoint was committed and has been removed since
      // then, or a later attempt removed its files.
      const bool is_elsewhere = find_store_copy && found && !*found &&
                                is_file_missing(*resources_.disk, receipt_path(pack.id, pack.rank));
      return is_elsewhere ? find_store_copy(pack.id) : found;
    });
    if (committed && *committed && confirm) {
      const auto confirmed = without_lock(lock, confirm);
      if (!confirmed) committed = confirmed.error();
    }
    if (!committed) {
      record_failed_commit(pack.id, committed.error());
      return true;
    }
    if (*committed) {
      const auto before = find_older_committed(lock, pack.id);
      record_committed(pack.id, **committed, before);
      report_commit(lock, **committed);
      if (commits && pack.rank.value() == 0) retire_old_checkpoints(lock);
      return true;
    }
    if (i >= pending_commits_.size() || pending_commits_[i].pack.id != pack.id)
      return true;  // an attempt began meanwhile
    pending_commits_[i].was_commit_tried = true;
    ++k;
  }
  return false;
}

// Ignores errors, because the commit of the checkpoint would return the same error again.
bool SavePipeline::has_all_votes(MutexLock& lock, const StagedPack& pack, std::vector<PackRecord>& receipts) {
  const auto found =
      without_lock(lock, [&] { return read_receipts(*resources_.disk, pack.id, pack.world_size, receipts); });
  return found && *found;
}

// Call find_older_committed() after the commit of `id`. A rank that does not commit looks for the newest
// checkpoint first, so older checkpoints may be committed that the rank has not looked for.
std::set<CheckpointId> SavePipeline::find_older_committed(MutexLock& lock, const CheckpointId& id) {
  std::vector<CheckpointId> older;
  for (const PendingCommit& one : pending_commits_)
    if (one.pack.id < id) older.push_back(one.pack.id);
  std::set<CheckpointId> found;
  if (older.empty()) return found;
  return without_lock(lock, [&] {
    for (const CheckpointId& one : older)
      if (const auto entry = resources_.store.find(one); entry && *entry) found.insert(one);
    return found;
  });
}

bool SavePipeline::check_votes(MutexLock& lock) {
  if (!std::exchange(are_votes_requested_, false) || pending_commits_.empty()) return false;
  const StagedPack pack = pending_commits_.back().pack;
  auto votes = without_lock(lock, [&] { return count_votes(*resources_.disk, pack.id, pack.world_size); });
  if (votes) progress_.votes = *std::move(votes);
  return true;
}

void SavePipeline::record_failed_commit(const CheckpointId& id, const Error& why) {
  const auto at = std::ranges::find(pending_commits_, id, [](const auto& one) { return one.pack.id; });
  if (at == pending_commits_.end()) return;
  forget_parts_after(why);
  ++at->tries;
  const bool has_newer = at + 1 != pending_commits_.end();
  if (!is_stopping_ && may_retry_write(at->tries, has_newer)) {
    progress_.events.push_back("the checkpoint of " + step_text(id) +
                               " could not be committed and is tried again: " + why.message());
    commit_not_before_ = resources_.clock->now() + options_.pause;
    return;
  }
  const PendingCommit lost = *at;
  pending_commits_.erase(at);
  record_missed_save(lost.pack, lost.ticket, why);
  if (lost.is_committer || has_newer) return;
  // Only rank 0 commits, and this rank could not read the newest commit. Report older saves as failed, too:
  // rank 0 may have removed their checkpoints as old, so that this rank would wait for them forever.
  for (const PendingCommit& one : pending_commits_) one.ticket.fail(why);
  pending_commits_.clear();
}

void SavePipeline::resolve_commit_promise(const CheckpointId& id, const SavePromise& ticket) const {
  ticket.reach(SaveLevel::kCommitted);
  if (!save_context_ || !save_context_->await_store_copies) return ticket.reach(SaveLevel::kStored);
  save_context_->await_store_copies(id, ticket);
}

void SavePipeline::record_committed(const CheckpointId& id, const InventoryEntry& entry,
                                    const std::set<CheckpointId>& before) {
  const bool is_of_now = save_context_ && save_context_->attempt == id.attempt;
  // With --keep-last=0 (find_store_copy is set), the run's folder may lose the part files of this checkpoint
  // before the next save.
  const bool keeps_parts = is_of_now && !save_context_->find_store_copy;
  std::erase_if(pending_commits_, [&](const PendingCommit& one) RATOON_REQUIRES(mutex_) {
    if (one.pack.id > id) return false;
    if (one.pack.id == id && one.parts && keeps_parts) known_parts_ = one.parts;
    if (one.pack.id == id || before.contains(one.pack.id))
      resolve_commit_promise(one.pack.id, one.ticket);
    else
      one.ticket.fail({ErrorKind::kCancelled,
                       "the checkpoint of " + step_text(id) + " is committed, but the checkpoint of " +
                           step_text(one.pack.id) + " does not exist: it was skipped or removed"});
    return true;
  });
  if (!is_of_now) return;
  progress_.committed = entry;
  committed_at_ = resources_.clock->now();
}

void SavePipeline::report_commit(MutexLock& lock, const InventoryEntry& entry) {
  if (!save_context_ || save_context_->attempt != entry.attempt || !save_context_->on_commit) return;
  // on_commit may update a link in the run's folder. So count the duration of on_commit as the duration of a
  // disk call.
  without_lock(lock, [&watch = *resources_.watch, told = save_context_->on_commit, &entry] {
    return watch([&] {
      told(entry);
      return true;
    });
  });
}

std::optional<InventoryEntry> SavePipeline::newest_committed_before(const CheckpointId& id) const {
  const auto found = resources_.store.inventory();
  if (!found) return std::nullopt;
  const auto at = std::ranges::find_if(found->complete, [&](const auto& one) { return id_of(one) < id; });
  return at == found->complete.end() ? std::nullopt : std::optional(*at);
}

void SavePipeline::retire_old_checkpoints(MutexLock& lock) {
  if (!save_context_) return;
  const SaveContext world = *save_context_;
  const auto newest = progress_.committed;
  std::optional<InventoryEntry> before;
  bool is_bad = false;
  const auto retired = without_lock(lock, [&]() -> Result<void> {
    if (world.may_clean_up && !world.may_clean_up()) return {};
    auto done = resources_.store.retire_old(world.rules, world.attempt,
                                            world.copies ? world.copies() : StoreCopies(), world.read_back);
    const auto tell = [&] {
      world.on_retired();
      return true;
    };
    if (world.on_retired) (*resources_.watch)(tell);
    is_bad = !done && done.error().kind() == ErrorKind::kCorrupted;
    if (!is_bad || !newest) return done;
    before = newest_committed_before(id_of(*newest));
    if (world.on_damage) world.on_damage(before);
    return done;
  });
  if (!is_bad) progress_.missed_saves_in_a_row = 0;
  if (retired) return;
  progress_.events.push_back("old checkpoints are kept for now: " + retired.error().message());
  if (!is_bad || !progress_.committed) return;  // an attempt may have begun meanwhile
  // The newest checkpoint could not be read back: it must no longer be reported as durable.
  known_parts_ = std::make_shared<const CommittedParts>();
  ++progress_.missed_saves;
  ++progress_.missed_saves_in_a_row;
  progress_.is_newest_save_lost = newest_saved_ == id_of(*progress_.committed);
  progress_.last_error = retired.error().message();
  auto& damaged = progress_.damaged;
  damaged.push_back(*std::exchange(progress_.committed, before));
  damaged.back().is_complete = false;
  if (damaged.size() > kDamagedCheckpointsMax) damaged.erase(damaged.begin());
}

}  // namespace ratoon::checkpoint
