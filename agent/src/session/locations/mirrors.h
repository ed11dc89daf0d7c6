// Mirrors does the work after a commit, in parallel with training: copies to the run's stores, retention
// there, and names of the newest checkpoint. Each failure becomes an event, and is counted.
//
// Thread contract: note_committed(), go_back_to(), copies() and await() from any thread, the rest from the
// training thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/saver/save_promise.h"
#include "agent/src/checkpoint/tiers/latest.h"
#include "agent/src/checkpoint/tiers/stores/mirror_worker.h"
#include "agent/src/checkpoint/tiers/tiers.h"
#include "agent/src/metrics/meters.h"
#include "agent/src/session/telemetry/event_log.h"
#include "base/contract/messages.h"
#include "base/core/random_name.h"

namespace ratoon::session {

struct MirrorPlan {
  checkpoint::Tiers tiers;  // the first is the home
  checkpoint::KeepRules home_rules{};
  checkpoint::KeepRules store_rules{};
  std::string run_folder{};   // of the home, for links; empty: the home is a store
  std::string latest_name{};  // empty: none
  std::string run_name{};
  // Returns whether this job still owns a location; if not, Mirrors removes nothing there.
  std::function<bool(const checkpoint::Disk&)> may_clean_up = [](const auto&) { return true; };
};

class Mirrors {
 public:
  // `meters` must have one StoreMeters for each store of the plan.
  Mirrors(MirrorPlan plan, std::shared_ptr<metrics::Meters> meters, std::shared_ptr<EventLog> events);

  // Sets what this process does in the attempt: rank 0 copies committed checkpoints, and each rank maintains
  // its own link.
  void begin_attempt(const Assignment& assignment);
  // Stops the copies in progress, which a later attempt completes.
  void stop();

  // For the metrics: takes the checkpoints that were found at the start.
  void note_found(const std::vector<checkpoint::TierInventory>& tiers);
  // Starts the work after a commit. The caller must be allowed to wait for the disk, because a link name that
  // contains the epoch needs the manifest.
  void note_committed(const InventoryEntry& entry);
  // Does the work after a commit for a checkpoint that was loaded from home, on the training thread. `run` is
  // the record in the checkpoint's manifest.
  void note_loaded(const InventoryEntry& entry, const std::optional<checkpoint::RunRecord>& run);
  // Removes all ranks' links at home that point to removed checkpoints.
  void remove_stale_links();
  // Call it if the last reported checkpoint is damaged. `newest` is the newest remaining checkpoint.
  void go_back_to(const std::optional<InventoryEntry>& newest);
  // For the retention at home: returns the checkpoints that are being copied, which must stay at home until
  // then. `in_store` stays empty: if no checkpoint is to stay at home, the copying thread removes checkpoints
  // at home.
  [[nodiscard]] checkpoint::Copies copies() const;
  // Completes `ticket` once each store has the committed checkpoint, or a newer checkpoint.
  void await(const checkpoint::CheckpointId& id, const checkpoint::SavePromise& ticket);
  // Finds a checkpoint in the stores. Any thread on any rank may call find().
  [[nodiscard]] Result<std::optional<InventoryEntry>> find(const checkpoint::CheckpointId& id) const;
  // If a store does not have the last reported checkpoint within `at_most`, returns a sentence about that
  // store. `goes_on` is called regularly and may end the wait; if it is null, the wait is not ended early.
  [[nodiscard]] std::vector<std::string> wait_for_newest(Duration at_most,
                                                         const std::function<bool()>& goes_on = {}) const;

 private:
  using Worker = checkpoint::MirrorWorker;
  void note_result(std::size_t store, const checkpoint::CheckpointId& id,
                   const Result<checkpoint::Mirrored>& result);
  void hear_of(std::size_t store, const checkpoint::CheckpointId& id,
               const Result<checkpoint::Mirrored>& result);
  // The caller must hold mutex_.
  void notify_waiters();
  void fail_waiters(const std::function<bool(const checkpoint::CheckpointId&)>& is_for, const Error& why);
  void point_to(std::size_t store, const checkpoint::CheckpointId& id, const std::string& digest);
  [[nodiscard]] Result<void> point(const checkpoint::Tier& tier, const checkpoint::Latest& latest,
                                   const Result<std::uint64_t>& epoch) const;
  // Returns the checkpoint's epoch; 0 if the name pattern has no {epoch}.
  [[nodiscard]] Result<std::uint64_t> epoch_of(const checkpoint::Tier& tier,
                                               const checkpoint::CheckpointId& id) const;
  void pass_on(const InventoryEntry& entry);
  [[nodiscard]] bool has_link() const;
  void link_to(const InventoryEntry& entry, const Result<std::uint64_t>& epoch);
  void remove_stale_names(const checkpoint::Tier& tier);
  void clean_up(std::size_t store);
  // Aborts uploads that dead processes of older attempts did not finish.
  void abort_abandoned_uploads(const checkpoint::Tier& tier, Attempt own, const std::stop_token& stop);
  // Reports a problem once, and again only if its text changes, because the cause that blocks one save
  // usually blocks the next save, too.
  void complain(const Result<void>& result, const std::string& what);
  [[nodiscard]] const checkpoint::Tier& tier_of(std::size_t store) const {
    return plan_.tiers.all()[store + 1];
  }

  const MirrorPlan plan_;
  const std::shared_ptr<metrics::Meters> meters_;
  const std::shared_ptr<EventLog> events_;
  std::atomic<std::uint64_t> attempt_{0};
  std::atomic<std::uint32_t> rank_{0};
  std::atomic<std::uint32_t> world_size_{1};
  std::vector<std::unique_ptr<std::atomic<bool>>> is_behind_;  // of each store: failed since its last copy
  const std::string mark_ = draw_name();                       // of this process, in temporary links
  std::mutex troubles_mutex_;
  std::map<std::string, std::string> troubles_;  // guarded by troubles_mutex_; the last report of each kind
  mutable std::mutex mutex_;
  std::optional<checkpoint::CheckpointId> newest_;  // guarded by mutex_; that is to be in all stores
  struct Awaited {
    checkpoint::CheckpointId id;
    checkpoint::SavePromise ticket;
  };
  std::vector<Awaited> awaited_;                  // guarded by mutex_
  std::vector<std::unique_ptr<Worker>> workers_;  // guarded by mutex_; they use all but what follows
  std::jthread tidying_;                          // cleans up the home if it is a store; the last member, too
};

}  // namespace ratoon::session
