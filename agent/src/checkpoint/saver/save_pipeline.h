// SavePipeline: the state of all saves of a process, shared by the training thread and the writer thread. The
// training thread copies tensors into slots (memory for one pack file each). The writer thread does one unit
// of work at a time: it writes a pack, checks a commit, or allocates memory for the next slot. SavePipeline
// starts no thread: Saver calls work_once() in its thread, and tests call it in any order.
//
// Thread contract: one thread makes the calls of the trainer's side, one thread calls work_once(), and any
// thread may call progress(). The state of a slot says which of the two threads owns its memory; a mutex
// guards each change of the owner.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
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

namespace ratoon::checkpoint {

struct SaverOptions {
  std::size_t slots_max = 2;
  std::uint64_t budget_bytes = ~0ULL;    // of all slots together
  std::filesystem::path slots_folder{};  // in a memory file system; empty: own memory
  std::string slots_name{};              // prefix of its file names there; unique to the process
  // A number, made by folder_mark(), for the run's folder and the term of the job's claim on it; 0 if there
  // is no folder and no claim. If the run has only a store, slots_name contains the store's address.
  std::uint64_t home_mark = 0;
  std::string owner{};                          // identity of the job, for packs and receipts
  Duration patience = std::chrono::minutes(5);  // limit of a disk call and of the wait for a slot
  Duration pause = std::chrono::seconds(1);     // before a write is tried again
  std::uint64_t early_bytes_min = 64ULL << 20;  // larger packs are written while they are copied
  bool has_thread = true;                       // false: poll() and save() do the work
  // Adds a timeout to opening the run's folder or store and to all file operations in slots_folder. Null: no
  // timeout.
  std::shared_ptr<CallsWithTimeout> calls{};
  // connect_progress is called once with a function `go_on`. Code that makes a long call, such as an upload,
  // calls go_on() when the call makes progress, so that the call does not count as hung.
  std::function<void(std::function<void()>)> connect_progress{};
};

// The attempt and the rank for which a process saves checkpoints, and the functions that the writer calls.
struct SavingWorld {
  Attempt attempt{0};
  Rank rank{0};
  std::uint32_t world_size = 1;
  KeepRules rules{};
  // The writer thread calls all of the following functions. The writer calls before_commit before it tries to
  // commit, so that files other than packs to which the manifest refers are written first.
  std::function<void()> before_commit{};
  // confirm_place is called before a commit, and after each commit on every rank. If confirm_place returns an
  // error, another job owns the run's folder or store. The checkpoint is then not committed or not reported,
  // because that job may have chosen its checkpoint to resume from before this commit.
  std::function<Result<void>()> confirm_place{};
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
  std::function<Copies()> copies{};
  // await_stores is called with the ticket of each committed save, while the pipeline's lock is held, to
  // report when stores have a copy. If await_stores is null, no store gets a copy.
  std::function<void(const CheckpointId&, const SavePromise&)> await_stores{};
  // Finds a copy of a committed checkpoint in other stores, if it was removed from the run's folder before
  // this rank saw it there. find_copy is null if no checkpoint is removed before all ranks saw it.
  std::function<Result<std::optional<InventoryEntry>>(const CheckpointId&)> find_copy{};
  ReadBack read_back = ReadBack::kAllBytes;  // of the newest, before older ones are removed
};

struct SaveProgress {
  // The newest checkpoint that this attempt committed, or, if that one cannot be read back, the newest intact
  // checkpoint before it, of any attempt.
  std::optional<InventoryEntry> committed{};
  std::vector<InventoryEntry> damaged{};  // of this attempt, did not read back; at most kDamagedMax
  Duration since_commit{0};               // time since `committed` was known
  std::uint64_t missed_in_a_row = 0;
  std::uint64_t missed = 0;  // since the process began, like `stale`
  std::uint64_t stale = 0;   // saves with unchanged bytes: see StaleSaveCheck
  std::string last_error{};  // of the last failure
  bool is_newest_lost = false;
  bool is_written = true;    // no pack waits to be written, and each commit was tried
  bool is_committed = true;  // and no commit is pending
  // True if all packs of this process are written and the commit waits for other ranks.
  bool waits_for_ranks = false;
  std::optional<Votes> votes{};       // of the newest pending commit, as of the last ask_for_votes()
  bool is_stuck = false;              // the disk has not answered within SaverOptions::patience
  bool must_end = false;              // no save is possible any more: the process must end with last_error
  std::vector<std::string> events{};  // sentences for people, each returned once
};

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
  void begin_attempt(const SavingWorld& world);
  // Blocks until the tensors are copied into a slot. If all slots are in use, save() also waits until the
  // writer frees one. If there is no memory for a slot, save() waits until the pack is written to the disk.
  [[nodiscard]] Result<SavePromise> save(Step step, std::span<const TensorView> tensors,
                                         const std::optional<RunRecord>& run = {},
                                         const SavePromise& ticket = SavePromise());
  // Allocates slots for a pack of this size before the first save.
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
  bool work_once();
  // Waits until there may be work for work_once(). Returns false if stop() was called.
  [[nodiscard]] bool wait_for_work(Duration at_most);

 private:
  struct Slot {
    std::size_t number = 0;  // in the name of its file
    Slab slab;
    PackLayout layout;
    SavePromise ticket;
    std::uint32_t tries = 0;
    std::shared_ptr<CopyProgress> filling = CopyProgress::completed();  // only the trainer replaces it
    std::optional<StagedPack> coming{};  // set while it is copied and may already be written
    bool is_read = false;                // the writer reads it before it is staged
    bool is_leftover = false;            // left by an earlier process
    std::uint64_t room_bytes = 0;        // size of the slab, valid also while it grows
  };
  // A pack that this rank has written and whose checkpoint, as far as this rank knows, is not committed yet.
  struct Watched {
    StagedPack pack;
    SavePromise ticket;
    bool commits = false;  // this rank commits it: as rank 0, or for a process that died
    bool is_tried = false;
    std::uint32_t tries = 0;
    // The receipts of all ranks for this checkpoint that were read so far. Only the writer thread uses these
    // receipts. The receipts are in a shared_ptr, because the writer uses them without the lock.
    std::shared_ptr<std::vector<PackRecord>> receipts = std::make_shared<std::vector<PackRecord>>();
  };
  // A save that is written directly from the memory of the tensors, without a slot. The Direct object is
  // shared, since the writer may use it after the training thread has stopped waiting.
  struct Direct {
    StagedPack pack;
    std::vector<TensorView> tensors;
    std::optional<Result<void>> outcome;
  };
  using Lock = std::unique_lock<std::mutex>;
  struct Resources {
    std::shared_ptr<CallWatch> watch;
    std::shared_ptr<Disk> disk;  // the result of watch_disk()
    std::string mark;
    RunStore store;
    std::shared_ptr<const Clock> clock;
  };

  SavePipeline(Resources places, const SaverOptions& options);
  [[nodiscard]] bool has_written_all() const;
  // Takes over the slots of an earlier process. Returns kTimeout if the disk or the folder of slots hangs.
  // Other errors are reported as events, and the call succeeds.
  [[nodiscard]] Result<void> adopt_slots();
  [[nodiscard]] Result<Slab> open_left(std::size_t number) const;
  void adopt(std::size_t number, Slab slab, const std::optional<CheckpointId>& newest,
             const std::function<bool(const CheckpointId&)>& is_wanted);
  [[nodiscard]] std::filesystem::path slot_path(std::size_t number) const;
  // Runs `call`, which uses the folder of slots, with a timeout. After a timeout the function `call` may
  // still run, so it must own all objects that it uses.
  template <class Call>
  auto call_slot_folder(const char* doing, std::size_t number, Call call) const;
  [[nodiscard]] Result<std::size_t> add_slot(Lock& lock);
  [[nodiscard]] Result<Slab> open_new_slab(const std::set<std::size_t>& held, std::size_t& number) const;
  void give_back(Slot& slot) const;
  // Returns true if the error is a timeout, which means that the folder of slots hangs and that the process
  // must end.
  [[nodiscard]] bool must_end_after(const Error& why);

  [[nodiscard]] Result<SavePromise> save_or_report(Step step, std::span<const TensorView> tensors,
                                                   const std::optional<RunRecord>& run,
                                                   const SavePromise& ticket);
  [[nodiscard]] Result<void> stage(Lock& lock, std::size_t number, const StagedPack& pack,
                                   const PackImage& plan, std::span<const TensorView> tensors,
                                   const SavePromise& ticket);
  // Returns the number of a slot that is large enough and is now in the state kFilling, or nothing if there
  // is no memory for a slot.
  [[nodiscard]] Result<std::optional<std::size_t>> take_slot(Lock& lock, std::uint64_t image_bytes);
  [[nodiscard]] SlotFacts slot_facts(std::uint64_t image_bytes) const;
  // Reports once that there is no memory for slots, so that every save waits for the disk.
  void report_budget_once(std::uint64_t image_bytes);
  // Enlarges the slot for an image of this size. If there is not enough memory, the slot becomes free again.
  [[nodiscard]] Result<void> grow(Lock& lock, std::size_t slot, std::uint64_t image_bytes);
  [[nodiscard]] Result<void> wait_for_writer(Lock& lock, Timestamp since);
  [[nodiscard]] Result<void> fill(Slot& slot, const PackImage& plan, std::span<const TensorView> tensors);
  // Waits until the writer thread no longer reads the slot. Allocates no memory, so that it works when there
  // is none.
  [[nodiscard]] Result<void> stop_reading(Slot& slot);
  // Calls stop_reading(), and then marks the slot as one that may be filled again.
  [[nodiscard]] Result<void> take_back(Slot& slot);
  [[nodiscard]] Error disk_timeout_error() const;
  [[nodiscard]] Result<void> save_directly(Lock& lock, const StagedPack& pack,
                                           std::span<const TensorView> tensors);

  // Releases the lock in the constructor and takes it again in the destructor, also if an exception is
  // thrown.
  struct Unlocked {
    Unlocked(SavePipeline& of, Lock& held) : self(of), lock(held) {
      self.is_writing_ = true;
      lock.unlock();
    }
    ~Unlocked() {
      lock.lock();
      self.is_writing_ = false;
      self.changed_.notify_all();
    }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    SavePipeline& self;
    Lock& lock;
  };
  // Runs `work` without the lock.
  template <class Work>
  auto without_lock(Lock& lock, const Work& work);
  bool write_one(Lock& lock);
  bool write_while_filling(Lock& lock);
  void note_outcome(Lock& lock, std::size_t number, const StagedPack& pack,
                    const Result<WrittenPack>& written);
  // Frees disk space after a write of this pack failed with kNoSpace: removes files that no rank will commit.
  // After the second write that failed with kNoSpace, rank 0 also gives up older saves that wait for packs of
  // other ranks. If this save is given up and this rank wrote no receipt, removes the files of all ranks for
  // this checkpoint.
  void make_room(Lock& lock, const StagedPack& pack, std::uint32_t refusals, bool is_missed);
  void give_up_waiting(const StagedPack& for_pack);
  bool write_directly(Lock& lock);
  bool advance_commits(Lock& lock);
  // Returns true if all ranks have written their packs of this checkpoint. Reads those receipts that earlier
  // calls have not read.
  [[nodiscard]] bool has_all_votes(Lock& lock, const StagedPack& pack, std::vector<PackRecord>& receipts);
  bool prepare_one(Lock& lock);
  bool look_for_votes(Lock& lock);
  void release(std::size_t slot);
  void note_written(const StagedPack& pack, const SavePromise& ticket, bool is_leftover);
  // Records a failed write. Returns true if the write will be tried again.
  bool note_failed_write(std::size_t slot, const Error& why);
  void note_failed_commit(const CheckpointId& id, const Error& why);
  // Returns those checkpoints in watched_ that are older than `id` and are committed, too.
  [[nodiscard]] std::set<CheckpointId> committed_before(Lock& lock, const CheckpointId& id);
  void reach_commit(const CheckpointId& id, const SavePromise& ticket) const;
  void note_committed(const CheckpointId& id, const InventoryEntry& entry,
                      const std::set<CheckpointId>& before);
  void tell_commit(Lock& lock, const InventoryEntry& entry);
  // Returns the newest committed checkpoint before `id`, or nothing if there is none or if the disk cannot be
  // read.
  [[nodiscard]] std::optional<InventoryEntry> committed_before_it(const CheckpointId& id) const;
  void retire(Lock& lock);
  void note_missed(const StagedPack& pack, const SavePromise& ticket, const Error& why);

  const Resources resources_;
  const SaverOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // mutex_ guards all of the following members, except the parts of a slot that, by its state, only one
  // thread uses.
  SlotTable table_;
  std::deque<Slot> slots_;
  std::vector<Watched> watched_;  // oldest first
  std::shared_ptr<Direct> direct_;
  std::optional<SavingWorld> world_;
  std::optional<CheckpointId> newest_saved_;
  SaveProgress progress_;
  StaleSaveCheck stale_save_check_;
  Timestamp committed_at_;      // when the newest commit of this attempt was known
  Timestamp write_not_before_;  // after a failure
  Timestamp commit_not_before_;
  std::uint64_t prepared_bytes_ = 0;
  bool is_writing_ = false;  // work_once() uses the disk without the lock
  bool is_adding_ = false;   // add_slot() opens a slot without the lock
  bool is_budget_told_ = false;
  bool is_asked_for_votes_ = false;
  bool is_stopping_ = false;
  bool must_end_ = false;
};

}  // namespace ratoon::checkpoint
