// SavePipeline: the state of all saves of a process, shared by the training thread and the writer thread. The
// training thread copies tensors into slots (memory for one pack file each). The writer thread does one unit
// of work at a time: it writes a pack, checks a commit, or allocates memory for the next slot. SavePipeline
// starts no thread, so Saver calls do_work_unit() in its thread, and tests call it in any order.
//
// Thread contract: one thread (the training thread) makes the calls under "The trainer's side", one thread
// calls do_work_unit(), and any thread may call progress(). The state of a slot says which thread owns its
// memory: the training thread or the writer thread. A mutex guards each change of the owner.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/commit/votes.h"
#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/disk/watched_disk.h"
#include "agent/src/checkpoint/saver/save_promise.h"
#include "agent/src/checkpoint/staging/copy_progress.h"
#include "agent/src/checkpoint/staging/slab.h"
#include "agent/src/checkpoint/staging/slot_rules.h"
#include "agent/src/checkpoint/staging/slot_table.h"
#include "agent/src/checkpoint/staging/stale_save_check.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::checkpoint {

struct SaverOptions {
  std::size_t slots_max = 2;
  std::uint64_t budget_bytes = ~0ULL;    // of all slots together
  std::filesystem::path slots_folder{};  // in a memory file system; empty: own memory
  std::string slot_file_prefix{};        // prefix of its file names there; unique to the process
  // A hash of the run's folder (folder_inode_hash()) and of the number of the term, which is the time for
  // which the job owns the folder or store without a break. The pipeline ignores slot files with another
  // mark. The mark is 0 if the run has no folder and no known term. If the run has only a store,
  // slot_file_prefix contains the store's address.
  std::uint64_t location_hash = 0;
  std::string owner{};                              // identity of the job, for packs and receipts
  Duration disk_timeout = std::chrono::minutes(5);  // limit of a disk call and of the wait for a slot
  Duration pause = std::chrono::seconds(1);         // before a write is tried again
  std::uint64_t write_while_copying_bytes_min = 64ULL << 20;  // larger packs are written while copied
  bool has_writer_thread = true;                              // false: poll() and save() do the work
  // Adds a timeout to opening the run's folder or store and to all file operations in slots_folder. Null: no
  // timeout.
  std::shared_ptr<CallsWithTimeout> calls{};
  // The pipeline calls pass_progress_callback once with a function `record_progress`. Code that makes a long
  // call, such as an upload, must call record_progress() whenever the call makes progress, so that the
  // pipeline does not treat the call as hung.
  std::function<void(std::function<void()>)> pass_progress_callback{};
};

// The attempt and the rank for which a process saves checkpoints, and the functions that the writer calls.
struct SaveContext {
  Attempt attempt{0};
  Rank rank{0};
  std::uint32_t world_size = 1;
  KeepRules rules{};
  // The writer thread calls all of the following functions. The writer calls before_commit before it tries to
  // commit: before_commit writes files such as the history, to which the manifest refers.
  std::function<void()> before_commit{};
  // The rank that commits calls confirm_ownership before the commit. Every rank calls it again after the
  // commit. If confirm_ownership returns an error, another job owns the run's folder or store. An error
  // before the commit prevents the commit. After an error that follows the commit, the checkpoint is not
  // reported, because the other job may already resume from an earlier checkpoint.
  std::function<Result<void>()> confirm_ownership{};
  // on_commit is called for each commit, before older checkpoints are removed.
  std::function<void(const InventoryEntry&)> on_commit{};
  // may_clean_up is called before older checkpoints are removed. If may_clean_up returns false, another job
  // may own the run, and nothing is removed. may_clean_up is null if no other job can own the run.
  std::function<bool()> may_clean_up{};
  // on_retired is called after older checkpoints were removed, or could not be removed.
  std::function<void()> on_retired{};
  // If the checkpoint that on_commit reported last cannot be read back, on_damage is called with the newest
  // intact checkpoint before it.
  std::function<void(const std::optional<InventoryEntry>&)> on_damage{};
  std::function<StoreCopies()> copies{};
  // await_store_copies arranges that the ticket of a committed save reports when stores have a copy. The
  // writer thread calls await_store_copies while it holds the pipeline's lock. If await_store_copies is null,
  // no store gets a copy.
  std::function<void(const CheckpointId&, const SavePromise&)> await_store_copies{};
  // Finds a store's copy of a committed checkpoint that rank 0 removed from the run's folder before this rank
  // saw it. find_store_copy is null if no checkpoint is removed before all ranks have seen it.
  std::function<Result<std::optional<InventoryEntry>>(const CheckpointId&)> find_store_copy{};
  ReadBackScope read_back = ReadBackScope::kAllBytes;  // of the newest, before older ones are removed
};

struct SaveProgress {
  // The newest checkpoint that this attempt committed. If that checkpoint cannot be read back, `committed` is
  // the newest intact checkpoint before it, which may be of an earlier attempt.
  std::optional<InventoryEntry> committed{};
  // Checkpoints of this attempt that did not read back; at most kDamagedCheckpointsMax.
  std::vector<InventoryEntry> damaged{};
  Duration time_since_commit{0};  // time since `committed` was known
  std::uint64_t missed_saves_in_a_row = 0;
  std::uint64_t missed_saves = 0;  // since the process began, like `stale_saves`
  std::uint64_t stale_saves = 0;   // saves with unchanged bytes: see StaleSaveCheck
  std::string last_error{};        // of the last failure
  bool is_newest_save_lost = false;
  bool is_written = true;    // no pack waits to be written, and each commit was tried
  bool is_committed = true;  // and no commit is pending
  // True if all packs of this process are written and the commit waits for other ranks.
  bool waits_for_other_ranks = false;
  std::optional<Votes> votes{};       // of the newest pending commit, as of the last ask_for_votes()
  bool is_stuck = false;              // the disk has not answered within SaverOptions::disk_timeout
  bool must_end_process = false;      // no save is possible any more: the process must end with last_error
  std::vector<std::string> events{};  // sentences for people, each returned once
};

[[nodiscard]] std::string step_text(const CheckpointId& id);  // "step 20"

class SavePipeline {
 public:
  // `mark` is a text, unique to this process, in the names of its temporary files.
  [[nodiscard]] static Result<std::shared_ptr<SavePipeline>> open(std::shared_ptr<Disk> disk,
                                                                  const std::string& mark,
                                                                  std::shared_ptr<const Clock> clock,
                                                                  const SaverOptions& options);

  // Frees the memory of all slots, except slots with a pack that is not written yet: the next process writes
  // these packs.
  ~SavePipeline();

  // The trainer's side.
  void begin_attempt(const SaveContext& world);
  // Blocks until the tensors are copied into a slot. If all slots are in use, save() also waits until the
  // writer frees one. If there is no memory for a slot, save() waits until the pack is written to the disk.
  [[nodiscard]] Result<SavePromise> save(Step step, std::span<const TensorView> tensors,
                                         const std::optional<RunRecord>& run = {},
                                         const SavePromise& ticket = SavePromise());
  // `id` is the checkpoint from which the rank has loaded its state. The saves of this attempt reuse the part
  // files of that checkpoint until a checkpoint of this attempt is committed. begin_attempt() forgets all
  // part files.
  void use_parts_of(const CheckpointId& id, const PackRecord& pack);
  // Allocates slots for a pack of `image_bytes` bytes before the first save.
  void prepare(std::uint64_t image_bytes);
  [[nodiscard]] SaveProgress progress();  // moves the events out
  // Asks the writer to check once which ranks have written their packs of the newest checkpoint that is not
  // committed yet.
  void ask_for_votes();
  void wait_for_change(Duration at_most);  // of the progress; may return early
  [[nodiscard]] bool is_written() const;   // as in SaveProgress
  [[nodiscard]] bool is_stuck() const;
  void stop();                     // from now on no retries and no new slots
  void give_up(const Error& why);  // the writer has failed: the process must end

  // The writer's side. Writes one pack, checks one commit or prepares one slot. Returns false if there is no
  // work that can be done now.
  bool do_work_unit();
  // Waits until there may be work for do_work_unit(). Returns false if stop() was called.
  [[nodiscard]] bool wait_for_work(Duration at_most);

 private:
  struct Slot {
    std::size_t number = 0;  // in the name of its file
    Slab slab;
    PackLayout layout;
    PartsOfSave parts;  // the bytes to write are in the slab, after the image of the pack
    SavePromise ticket;
    std::uint32_t tries = 0;
    std::shared_ptr<CopyProgress> filling = CopyProgress::completed();  // only the trainer replaces it
    std::optional<StagedPack> pack_being_copied{};  // set while it is copied and may already be written
    bool is_read_by_writer = false;                 // the writer reads it before it is staged
    bool is_leftover = false;                       // left by an earlier process
    std::uint64_t slab_bytes = 0;                   // size of the slab, valid also while it grows
  };
  // A pack that this rank has written and whose checkpoint, as far as this rank knows, is not committed yet.
  struct PendingCommit {
    StagedPack pack;
    SavePromise ticket;
    std::shared_ptr<const CommittedParts> parts;  // the part files of this rank
    bool is_committer = false;  // this rank commits it: as rank 0, or for a process that died
    bool was_commit_tried = false;
    std::uint32_t tries = 0;
    // The receipts of all ranks for this checkpoint that were read so far. Only the writer thread uses
    // `receipts`. The receipts are in a shared_ptr, because the writer uses them without the lock.
    std::shared_ptr<std::vector<PackRecord>> receipts = std::make_shared<std::vector<PackRecord>>();
  };
  // A save that is written directly from the memory of the tensors, without a slot. The object is held by
  // shared_ptr, because the writer may use it after the training thread has stopped waiting for it.
  struct DirectSave {
    StagedPack pack;
    std::vector<TensorView> tensors;
    std::shared_ptr<const CommittedParts> known;
    std::optional<Result<void>> outcome;
    std::shared_ptr<const CommittedParts> parts{};  // of the written pack
  };
  struct PipelineResources {
    std::shared_ptr<CallTimer> watch;
    std::shared_ptr<Disk> disk;  // the result of watch_disk()
    std::string mark;
    RunStore store;
    std::shared_ptr<const Clock> clock;
  };

  SavePipeline(PipelineResources places, const SaverOptions& options);
  [[nodiscard]] bool has_written_all() const RATOON_REQUIRES(mutex_);
  // Takes over the slots of an earlier process. Returns kTimeout if the disk or the folder of slots hangs.
  // adopt_slots() reports all other errors as events and then succeeds.
  [[nodiscard]] Result<void> adopt_slots() RATOON_REQUIRES(mutex_);
  [[nodiscard]] Result<Slab> open_leftover_slab(std::size_t number) const;
  void adopt_leftover_slot(std::size_t number, Slab slab, const std::optional<CheckpointId>& newest,
                           const std::function<bool(const CheckpointId&)>& is_wanted) RATOON_REQUIRES(mutex_);
  [[nodiscard]] std::filesystem::path slot_path(std::size_t number) const;
  // Runs `call`, which uses the folder of slots, with a timeout. After a timeout the function `call` may
  // still run, so it must own all objects that it uses.
  template <class Call>
  auto run_with_slot_timeout(const char* doing, std::size_t number, Call call) const;
  [[nodiscard]] Result<std::size_t> add_slot(MutexLock& lock) RATOON_REQUIRES(mutex_);
  [[nodiscard]] Result<Slab> open_new_slab(const std::set<std::size_t>& held, std::size_t& number) const;
  void free_slot_memory(Slot& slot) const;
  // Returns true if the error is a timeout: the folder of slots then hangs, and the process must
  // end.
  [[nodiscard]] bool is_fatal_error(const Error& why) RATOON_REQUIRES(mutex_);

  [[nodiscard]] Result<SavePromise> save_or_report(Step step, std::span<const TensorView> tensors,
                                                   const std::optional<RunRecord>& run,
                                                   const SavePromise& ticket);
  [[nodiscard]] Result<void> stage(MutexLock& lock, std::size_t number, const StagedPack& pack,
                                   const PackImageLayout& plan, const SplitState& state,
                                   const SavePromise& ticket) RATOON_REQUIRES(mutex_);
  // Returns the number of a slot that is large enough and is now in the state kFilling, or nothing if there
  // is no memory for a slot.
  [[nodiscard]] Result<std::optional<std::size_t>> take_slot(MutexLock& lock, std::uint64_t image_bytes)
      RATOON_REQUIRES(mutex_);
  [[nodiscard]] SlotFacts slot_facts(std::uint64_t image_bytes) const RATOON_REQUIRES(mutex_);
  // Reports once that there is no memory for slots, so that every save waits for the disk.
  void report_budget_once(std::uint64_t image_bytes) RATOON_REQUIRES(mutex_);
  // Enlarges the slot to `image_bytes` bytes. If there is not enough memory, the slot becomes free again.
  [[nodiscard]] Result<void> grow_slot(MutexLock& lock, std::size_t slot, std::uint64_t image_bytes)
      RATOON_REQUIRES(mutex_);
  [[nodiscard]] Result<void> wait_for_writer(MutexLock& lock, Timestamp since) RATOON_REQUIRES(mutex_);
  [[nodiscard]] Result<void> fill_slot(Slot& slot, const PackImageLayout& plan, const SplitState& state);
  // Writes the state of a slot into its memory, so that the next process can write the pack. A slot whose
  // pack refers to part files is marked as free, because the memory of the slot does not contain the names of
  // the part files.
  void write_slot_info(std::size_t number) RATOON_REQUIRES(mutex_);
  // Waits until the writer thread no longer reads the slot. wait_until_unread() allocates no memory, so that
  // it works without free memory.
  [[nodiscard]] Result<void> wait_until_unread(Slot& slot);
  // Calls wait_until_unread(), and then marks the slot as one that may be filled again.
  [[nodiscard]] Result<void> reclaim_slot(Slot& slot);
  [[nodiscard]] Error disk_timeout_error() const;
  // Returns the part files of the written pack.
  [[nodiscard]] Result<std::shared_ptr<const CommittedParts>> save_directly(
      MutexLock& lock, const StagedPack& pack, std::span<const TensorView> tensors,
      const std::shared_ptr<const CommittedParts>& known) RATOON_REQUIRES(mutex_);

  // Releases the lock of mutex_ in the constructor and takes it again in the destructor, also if an exception
  // is thrown. Only Clang's annotation uses `of`.
  struct RATOON_THREAD_SAFETY(scoped_lockable) UnlockedScope {
    UnlockedScope([[maybe_unused]] const SavePipeline& of, MutexLock& held)
        RATOON_THREAD_SAFETY(release_capability(of.mutex_))
        : lock(held) {
      lock.unlock();
    }
    ~UnlockedScope() RATOON_THREAD_SAFETY(release_capability()) { lock.lock(); }
    UnlockedScope(const UnlockedScope&) = delete;
    UnlockedScope& operator=(const UnlockedScope&) = delete;
    MutexLock& lock;
  };
  // The same for the writer, which marks the time without the lock.
  struct RATOON_THREAD_SAFETY(scoped_lockable) UnlockedForWriter {
    UnlockedForWriter(SavePipeline& of, MutexLock& held) RATOON_THREAD_SAFETY(release_capability(of.mutex_))
        : self(of), lock(held) {
      self.is_writing_ = true;
      lock.unlock();
    }
    ~UnlockedForWriter() RATOON_THREAD_SAFETY(release_capability()) {
      lock.lock();
      self.is_writing_ = false;
      self.changed_.notify_all();
    }
    UnlockedForWriter(const UnlockedForWriter&) = delete;
    UnlockedForWriter& operator=(const UnlockedForWriter&) = delete;
    SavePipeline& self;
    MutexLock& lock;
  };
  // Runs `work` without the lock.
  template <class Work>
  auto without_lock(MutexLock& lock, const Work& work) RATOON_REQUIRES(mutex_) {
    const UnlockedForWriter away(*this, lock);
    return work();
  }
  bool write_one_pack(MutexLock& lock) RATOON_REQUIRES(mutex_);
  bool write_while_filling(MutexLock& lock) RATOON_REQUIRES(mutex_);
  void record_write_outcome(MutexLock& lock, std::size_t number, const StagedPack& pack,
                            const Result<WrittenPack>& written) RATOON_REQUIRES(mutex_);
  // Frees disk space after the write of `pack` failed with kNoSpace: removes files that no rank will commit.
  // From the second failed write on, rank 0 also gives up older saves that wait for packs of other ranks. If
  // `is_missed` is true, the writer has given up `pack`. If this rank also has no receipt for `pack`, removes
  // the files of all ranks for the checkpoint of `pack`.
  void free_disk_space(MutexLock& lock, const StagedPack& pack, std::uint32_t tries, bool is_missed)
      RATOON_REQUIRES(mutex_);
  void give_up_older_saves(const StagedPack& for_pack) RATOON_REQUIRES(mutex_);
  bool write_directly(MutexLock& lock) RATOON_REQUIRES(mutex_);
  bool advance_commits(MutexLock& lock) RATOON_REQUIRES(mutex_);
  // Returns true if all ranks have written their packs of this checkpoint. Reads those receipts that earlier
  // calls have not read.
  [[nodiscard]] bool has_all_votes(MutexLock& lock, const StagedPack& pack, std::vector<PackRecord>& receipts)
      RATOON_REQUIRES(mutex_);
  bool prepare_one_slot(MutexLock& lock) RATOON_REQUIRES(mutex_);
  bool check_votes(MutexLock& lock) RATOON_REQUIRES(mutex_);
  void release_slot(std::size_t slot) RATOON_REQUIRES(mutex_);
  void record_written_pack(const StagedPack& pack, const SavePromise& ticket, bool is_leftover,
                           std::shared_ptr<const CommittedParts> parts) RATOON_REQUIRES(mutex_);
  // Makes the next save write all its parts if the error may mean that a part file of an earlier checkpoint
  // is missing or damaged.
  void forget_parts_after(const Error& why) RATOON_REQUIRES(mutex_);
  // Records a failed write. Returns true if the write will be tried again.
  bool record_failed_write(std::size_t slot, const Error& why) RATOON_REQUIRES(mutex_);
  void record_failed_commit(const CheckpointId& id, const Error& why) RATOON_REQUIRES(mutex_);
  // Returns those checkpoints in pending_commits_ that are older than `id` and are already committed.
  [[nodiscard]] std::set<CheckpointId> find_older_committed(MutexLock& lock, const CheckpointId& id)
      RATOON_REQUIRES(mutex_);
  void resolve_commit_promise(const CheckpointId& id, const SavePromise& ticket) const
      RATOON_REQUIRES(mutex_);
  void record_committed(const CheckpointId& id, const InventoryEntry& entry,
                        const std::set<CheckpointId>& before) RATOON_REQUIRES(mutex_);
  void report_commit(MutexLock& lock, const InventoryEntry& entry) RATOON_REQUIRES(mutex_);
  // Returns the newest committed checkpoint before `id`, or nothing if there is none or if the disk cannot be
  // read.
  [[nodiscard]] std::optional<InventoryEntry> newest_committed_before(const CheckpointId& id) const;
  void retire_old_checkpoints(MutexLock& lock) RATOON_REQUIRES(mutex_);
  void record_missed_save(const StagedPack& pack, const SavePromise& ticket, const Error& why)
      RATOON_REQUIRES(mutex_);

  const PipelineResources resources_;
  const SaverOptions options_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  // The memory of a slot needs no mutex, because the slot's state says which thread owns it.
  SlotTable slot_table_ RATOON_GUARDED_BY(mutex_);
  std::deque<Slot> slots_ RATOON_GUARDED_BY(mutex_);
  std::vector<PendingCommit> pending_commits_ RATOON_GUARDED_BY(mutex_);  // oldest first
  std::shared_ptr<DirectSave> direct_save_ RATOON_GUARDED_BY(mutex_);
  std::optional<SaveContext> save_context_ RATOON_GUARDED_BY(mutex_);
  std::optional<CheckpointId> newest_saved_ RATOON_GUARDED_BY(mutex_);
  SaveProgress progress_ RATOON_GUARDED_BY(mutex_);
  StaleSaveCheck stale_save_check_ RATOON_GUARDED_BY(mutex_);
  // The part files of this rank in the newest committed checkpoint; never null.
  std::shared_ptr<const CommittedParts> known_parts_ RATOON_GUARDED_BY(mutex_) =
      std::make_shared<const CommittedParts>();
  Timestamp committed_at_ RATOON_GUARDED_BY(mutex_);      // when the newest commit of this attempt was known
  Timestamp write_not_before_ RATOON_GUARDED_BY(mutex_);  // after a failure
  Timestamp commit_not_before_ RATOON_GUARDED_BY(mutex_);
  std::uint64_t prepared_bytes_ RATOON_GUARDED_BY(mutex_) = 0;
  bool is_writing_ RATOON_GUARDED_BY(mutex_) = false;      // do_work_unit() uses the disk without the lock
  bool is_adding_slot_ RATOON_GUARDED_BY(mutex_) = false;  // add_slot() opens a slot without the lock
  bool is_budget_reported_ RATOON_GUARDED_BY(mutex_) = false;
  bool are_votes_requested_ RATOON_GUARDED_BY(mutex_) = false;
  bool is_stopping_ RATOON_GUARDED_BY(mutex_) = false;
  bool must_end_ RATOON_GUARDED_BY(mutex_) = false;
};

}  // namespace ratoon::checkpoint
