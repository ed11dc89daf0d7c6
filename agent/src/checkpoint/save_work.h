// SaveWork: all that is known about the saves of a process, shared by who trains and by who writes. The
// trainer copies into slots; the writer takes one piece of work at a time: a pack, a look at a commit, memory
// for the next slot. No thread of its own: saver.h has one call work_once(), or none, and then the trainer
// does, so that a test steps through every order.
//
// Thread contract: the trainer's calls from one thread, work_once() from one, progress() from any. Memory of
// a slot belongs to whoever its state says; a mutex hands it over.
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

#include "agent/src/checkpoint/disk/patient_calls.h"
#include "agent/src/checkpoint/disk/watched_disk.h"
#include "agent/src/checkpoint/run_store.h"
#include "agent/src/checkpoint/staging/filling.h"
#include "agent/src/checkpoint/staging/freshness.h"
#include "agent/src/checkpoint/staging/slab.h"
#include "agent/src/checkpoint/staging/slot_rules.h"
#include "agent/src/checkpoint/staging/slot_table.h"
#include "agent/src/checkpoint/ticket.h"
#include "agent/src/checkpoint/votes.h"

namespace ratoon::checkpoint {

struct SaverOptions {
  std::size_t slots_max = 2;
  std::uint64_t budget_bytes = ~0ULL;    // of all slots together
  std::filesystem::path slots_folder{};  // in a memory file system; empty: slots are the process's own memory
  std::string slots_name{};              // begins the names of its files there; no other process has it
  // folder_mark() of the run's folder, which its slots are for. 0: unknown, or a store, whose address is in
  // slots_name.
  std::uint64_t home_mark = 0;
  std::string owner{};                          // identity of the job, which packs and receipts carry
  Duration patience = std::chrono::minutes(5);  // with one call to the disk, and with others' slots
  Duration pause = std::chrono::seconds(1);     // before a write is tried again
  std::uint64_t early_bytes_min = 64ULL << 20;  // packs as large are written while they are copied
  bool has_thread = true;                       // without: work is done by who calls poll()
  // The home is opened, and all is done with the folder of slots, through these; null: with no deadline.
  std::shared_ptr<PatientCalls> calls{};
  // Given what to call while a long call of the disk goes on, as an upload does: it has not hung.
  std::function<void(std::function<void()>)> hear_progress{};
};

// In which world a process saves.
struct SavingWorld {
  Attempt attempt{0};
  Rank rank{0};
  std::uint32_t world_size = 1;
  KeepRules rules{};
  // All on the writer's side. Before each try to commit: for what the manifest vouches for beside the packs.
  std::function<void()> before_commit{};
  // After each, on every rank: an error where the place is another job's by now. Then the commit is not told
  // of, since the other job may have chosen before it from where it goes on.
  std::function<Result<void>()> confirm_place{};
  // Told of each commit, before older ones go; asked before they do.
  std::function<void(const InventoryEntry&)> on_commit{};
  // Whether this job still owns the place; null: no other can reach it. False: nothing is removed.
  std::function<bool()> may_clean_up{};
  // After older ones went, or could not go.
  std::function<void()> on_retired{};
  // Told which one is the newest where that which was told of last does not read back.
  std::function<void(const std::optional<InventoryEntry>&)> on_damage{};
  std::function<Copies()> copies{};
  // Given the ticket of each commit, for what comes after it; null: no store gets a copy. Called with a lock.
  std::function<void(const CheckpointId&, const Ticket&)> await_stores{};
  // A copy, of what may have left the home before this rank saw it there; null: nothing leaves so early.
  std::function<Result<std::optional<InventoryEntry>>(const CheckpointId&)> find_copy{};
  ReadBack read_back = ReadBack::kAllBytes;  // of the newest, before older ones go
};

struct SaveProgress {
  // The newest of this attempt; where that did not read back, the one before it, of whatever attempt.
  std::optional<InventoryEntry> committed{};
  std::vector<InventoryEntry> damaged{};  // of this attempt: those that did not, the newest kDamagedMax
  Duration since_commit{0};               // from when that was known to now
  std::uint64_t missed_in_a_row = 0;
  std::uint64_t missed = 0;  // since the process began, as is stale
  std::uint64_t stale = 0;   // saves of which nothing was new
  std::string last_error{};  // of the newest that was missed
  bool is_newest_lost = false;
  bool is_written = true;    // nothing is staged that could be on the disk, and each commit was tried
  bool is_committed = true;  // and nothing waits to be committed
  // All of this process is written, and the commit waits for other ranks.
  bool waits_for_ranks = false;
  std::optional<Votes> votes{};  // of the newest that waits, as of the last ask_for_votes()
  bool is_stuck = false;         // the disk has not answered for as long as our patience lasts
  bool must_end = false;         // nothing can be saved any more: the process is to end, and says last_error
  std::vector<std::string> events{};  // sentences, each told once
};

class SaveWork {
 public:
  // `mark` names this process in temporary files.
  [[nodiscard]] static Result<std::shared_ptr<SaveWork>> open(std::shared_ptr<Disk> disk,
                                                              const std::string& mark,
                                                              std::shared_ptr<const Clock> clock,
                                                              const SaverOptions& options);

  // Gives memory back, but for what is still to be written by a process that comes after this one.
  ~SaveWork();

  // The trainer's side.
  void begin_attempt(const SavingWorld& world);
  // Blocks for one copy; where all slots are busy for the disk, and where there is no memory for one until
  // all is written.
  [[nodiscard]] Result<Ticket> save(Step step, std::span<const TensorView> tensors,
                                    const std::optional<RunRecord>& run = {},
                                    const Ticket& ticket = Ticket());
  // Gets slots for such a pack before the first is saved.
  void prepare(std::uint64_t image_bytes);
  [[nodiscard]] SaveProgress progress();  // takes the events
  // The writer looks once what other ranks have written of what waits to be committed.
  void ask_for_votes();
  void wait_for_change(Duration at_most);  // of that; may return early
  [[nodiscard]] bool is_written() const;   // as in SaveProgress
  [[nodiscard]] bool is_stuck() const;
  void stop();                     // no second tries, no new slots
  void give_up(const Error& why);  // the writer is no more, or has hold of what is the trainer's

  // The writer's side. Whether there was something to do that could be done.
  bool work_once();
  // Until work_once() may have something to do; false once it stopped.
  [[nodiscard]] bool wait_for_work(Duration at_most);

 private:
  struct Slot {
    std::size_t number = 0;  // in the name of its file
    Slab slab;
    PackLayout layout;
    Ticket ticket;
    std::uint32_t tries = 0;
    std::shared_ptr<Filling> filling = Filling::completed();  // the trainer's to change
    std::optional<StagedPack> coming{};                       // is being copied and may be written meanwhile
    bool is_read = false;                                     // by the writer, before it was staged
    bool is_legacy = false;                                   // of a process before this one
    std::uint64_t room_bytes = 0;  // of the slab, also while its owner makes it larger
  };
  // Written by this rank, not known to be committed.
  struct Watched {
    StagedPack pack;
    Ticket ticket;
    bool commits = false;  // as rank 0 does, or in place of one that died
    bool is_tried = false;
    std::uint32_t tries = 0;
    // That were read; shared with a look that is under way, of the writer alone.
    std::shared_ptr<std::vector<PackRecord>> receipts = std::make_shared<std::vector<PackRecord>>();
  };
  // Shared, since the writer may come back to it when the trainer waits no longer.
  struct Direct {
    StagedPack pack;
    std::vector<TensorView> tensors;
    std::optional<Result<void>> outcome;
  };
  using Lock = std::unique_lock<std::mutex>;
  struct Places {
    std::shared_ptr<CallWatch> watch;
    std::shared_ptr<Disk> disk;  // watched
    std::string mark;
    RunStore store;
    std::shared_ptr<const Clock> clock;
  };

  SaveWork(Places places, const SaverOptions& options);
  [[nodiscard]] bool has_written_all() const;
  // kTimeout where disk or memory hang; anything else that is wrong there is an event.
  [[nodiscard]] Result<void> adopt_slots();
  [[nodiscard]] Result<Slab> open_left(std::size_t number) const;
  void adopt(std::size_t number, Slab slab, const std::optional<CheckpointId>& newest,
             const std::function<bool(const CheckpointId&)>& is_wanted);
  [[nodiscard]] std::filesystem::path slot_path(std::size_t number) const;
  // What the folder of slots may hang in: `call` uses nothing but what it holds.
  template <class Call>
  auto at_slots(const char* doing, std::size_t number, Call call) const;
  [[nodiscard]] Result<std::size_t> add_slot(Lock& lock);
  [[nodiscard]] Result<Slab> open_new_slab(const std::set<std::size_t>& held, std::size_t& number) const;
  void give_back(Slot& slot) const;
  // The folder of slots hangs: the process is to end.
  [[nodiscard]] bool ends_by(const Error& why);

  [[nodiscard]] Result<Ticket> save_or_say_why(Step step, std::span<const TensorView> tensors,
                                               const std::optional<RunRecord>& run, const Ticket& ticket);
  [[nodiscard]] Result<void> stage(Lock& lock, std::size_t number, const StagedPack& pack,
                                   const PackImage& plan, std::span<const TensorView> tensors,
                                   const Ticket& ticket);
  // A slot in kFilling that is large enough; nothing where there will be none.
  [[nodiscard]] Result<std::optional<std::size_t>> take_slot(Lock& lock, std::uint64_t image_bytes);
  [[nodiscard]] RoomFacts room_facts(std::uint64_t image_bytes) const;
  // Once: saves wait for the disk though slots were asked for.
  void tell_of_budget(std::uint64_t image_bytes);
  // Where the memory cannot be had the slot is free again.
  [[nodiscard]] Result<void> grow(Lock& lock, std::size_t slot, std::uint64_t image_bytes);
  [[nodiscard]] Result<void> wait_for_writer(Lock& lock, Timestamp since);
  [[nodiscard]] Result<void> fill(Slot& slot, const PackImage& plan, std::span<const TensorView> tensors);
  // Until nobody reads what is to be copied again.
  [[nodiscard]] Result<void> take_back(Slot& slot);
  [[nodiscard]] Error does_not_answer() const;
  [[nodiscard]] Result<void> save_directly(Lock& lock, const StagedPack& pack,
                                           std::span<const TensorView> tensors);

  // Without the lock, until its end, also where something is thrown.
  struct AwayFromTheLock {
    AwayFromTheLock(SaveWork& of, Lock& held) : self(of), lock(held) {
      self.is_writing_ = true;
      lock.unlock();
    }
    ~AwayFromTheLock() {
      lock.lock();
      self.is_writing_ = false;
      self.changed_.notify_all();
    }
    AwayFromTheLock(const AwayFromTheLock&) = delete;
    AwayFromTheLock& operator=(const AwayFromTheLock&) = delete;
    SaveWork& self;
    Lock& lock;
  };
  // `work` without the lock.
  template <class Work>
  auto at_the_disk(Lock& lock, const Work& work);
  bool write_one(Lock& lock);
  bool write_while_filling(Lock& lock);
  void note_outcome(Lock& lock, std::size_t number, const StagedPack& pack,
                    const Result<WrittenPack>& written);
  // Where there was none for this pack: what nobody will commit goes. From the second refusal on that is, for
  // who commits, what waits for packs of other ranks, too; and after the last one what others wrote of this
  // checkpoint.
  void make_room(Lock& lock, const StagedPack& pack, std::uint32_t refusals, bool is_missed);
  void give_up_waiting(const StagedPack& for_pack);
  bool write_directly(Lock& lock);
  bool advance_commits(Lock& lock);
  bool prepare_one(Lock& lock);
  bool look_for_votes(Lock& lock);
  void release(std::size_t slot);
  void note_written(const StagedPack& pack, const Ticket& ticket, bool is_legacy);
  // Whether it is tried again.
  bool note_failed_write(std::size_t slot, const Error& why);
  void note_failed_commit(const CheckpointId& id, const Error& why);
  // Those that are watched and older, and committed all the same.
  [[nodiscard]] std::set<CheckpointId> committed_before(Lock& lock, const CheckpointId& id);
  void reach_commit(const CheckpointId& id, const Ticket& ticket) const;
  void note_committed(const CheckpointId& id, const InventoryEntry& entry,
                      const std::set<CheckpointId>& before);
  void tell_commit(Lock& lock, const InventoryEntry& entry);
  // Before this one, and committed; nothing where the disk does not say.
  [[nodiscard]] std::optional<InventoryEntry> committed_before_it(const CheckpointId& id) const;
  void retire(Lock& lock);
  void note_missed(const StagedPack& pack, const Ticket& ticket, const Error& why);

  const Places places_;
  const SaverOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_, but for what a slot's state gives to one side.
  SlotTable table_;
  std::deque<Slot> slots_;
  std::vector<Watched> watched_;  // oldest first
  std::shared_ptr<Direct> direct_;
  std::optional<SavingWorld> world_;
  std::optional<CheckpointId> newest_saved_;
  SaveProgress progress_;
  Freshness freshness_;
  Timestamp committed_at_;      // of the newest of this attempt
  Timestamp write_not_before_;  // after a failure
  Timestamp commit_not_before_;
  std::uint64_t prepared_bytes_ = 0;
  bool is_writing_ = false;  // work_once() is at a disk without the lock
  bool is_adding_ = false;   // a slot, without the lock
  bool is_budget_told_ = false;
  bool is_asked_for_votes_ = false;
  bool is_stopping_ = false;
  bool must_end_ = false;
};

}  // namespace ratoon::checkpoint
