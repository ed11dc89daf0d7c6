// Mirrors: copies each committed checkpoint to the stores, in parallel with the training. Mirrors also
// removes old checkpoints from the stores, and updates the links to the newest checkpoint. Each failed copy,
// removal or link is reported as an event and counted in the metrics.
//
// Thread contract: any thread may call note_committed(), go_back_to(), copies() and await(), but only the
// training thread may call the other functions.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
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
#include "base/core/threads/mutex.h"

namespace ratoon::session {

struct MirrorPlan {
  checkpoint::Tiers tiers;  // the first is the home
  checkpoint::KeepRules home_rules{};
  checkpoint::KeepRules store_rules{};
  std::string run_folder{};   // of the home, for links; empty: the home is a store
  std::string latest_name{};  // empty: none
  std::string run_name{};
  // The function may_clean_up returns whether this job still owns a location. Mirrors removes files only from
  // locations of this job.
  std::function<bool(const checkpoint::Disk&)> may_clean_up = [](const auto&) { return true; };
};

class Mirrors {
 public:
  // `meters` must have one StoreMeters for each store in `plan`.
  Mirrors(MirrorPlan plan, std::shared_ptr<metrics::Meters> meters, std::shared_ptr<EventLog> events);

  // Begins an attempt: rank 0 copies checkpoints, and each rank maintains its link to the newest checkpoint.
  void begin_attempt(const Assignment& assignment);
  // Stops the copies in progress. A later attempt completes the stopped copies.
  void stop();

  // Records, for the metrics, which checkpoints the locations had at the start.
  void note_initial_checkpoints(const std::vector<checkpoint::TierInventory>& tiers);
  // Starts copies and link updates after the commit of a checkpoint. note_committed() may wait for the disk,
  // because a link whose name contains the epoch requires reading the manifest.
  void note_committed(const InventoryEntry& entry);
  // Copies a loaded checkpoint to the stores, which may lack it, and updates the link to it. The training
  // thread calls note_loaded(). `run` is the run's record in the checkpoint's manifest.
  void note_loaded(const InventoryEntry& entry, const std::optional<checkpoint::RunRecord>& run);
  // Removes the links of all ranks in the run's folder that point to removed checkpoints.
  void remove_stale_links();
  // Goes back to an older checkpoint, because the last reported checkpoint was found to be damaged. `newest`
  // is the newest checkpoint that is not known to be damaged.
  void go_back_to(const std::optional<InventoryEntry>& newest);
  // Returns the checkpoints that are being copied to stores, and must stay in the home, the run's main
  // location, until the copies are complete. The field `in_store` of the result is always empty, because with
  // --keep-last=0 the copying thread itself removes checkpoints from the run's folder.
  [[nodiscard]] checkpoint::StoreCopies copies() const;
  // Completes `ticket` when each store has this checkpoint or a newer one.
  void await(const checkpoint::CheckpointId& id, const checkpoint::SavePromise& ticket);
  // Returns the entry of a checkpoint in the first store that has it. Any thread, on any rank, may call
  // find().
  [[nodiscard]] Result<std::optional<InventoryEntry>> find(const checkpoint::CheckpointId& id) const;
  // Waits at most `at_most` until the stores have the last reported checkpoint and the pointers to it, and
  // returns a sentence for each store that lacks the checkpoint. The wait ends early when the function
  // `goes_on`, if given, returns false.
  [[nodiscard]] std::vector<std::string> wait_for_newest(Duration at_most,
                                                         const std::function<bool()>& goes_on = {}) const;

 private:
  using Worker = checkpoint::MirrorWorker;
  void note_result(std::size_t store, const checkpoint::CheckpointId& id,
                   const Result<checkpoint::MirrorResult>& result, const std::stop_token& stop);
  void update_waiters(std::size_t store, const checkpoint::CheckpointId& id,
                      const Result<checkpoint::MirrorResult>& result);
  void notify_waiters() RATOON_REQUIRES(mutex_);
  void fail_waiters(const std::function<bool(const checkpoint::CheckpointId&)>& is_for, const Error& why)
      RATOON_REQUIRES(mutex_);
  // Updates the pointers of all ranks to the newest checkpoint, several at a time, until `stop` is requested.
  void update_store_pointers(std::size_t store, const checkpoint::CheckpointId& id, const std::string& digest,
                             const std::stop_token& stop);
  [[nodiscard]] Result<void> update_latest_pointer(const checkpoint::Tier& tier,
                                                   const checkpoint::LatestCheckpoint& latest,
                                                   const Result<std::uint64_t>& epoch) const;
  // Returns the epoch of a checkpoint for the link's name; 0 if --latest-name has no {epoch}.
  [[nodiscard]] Result<std::uint64_t> epoch_of(const checkpoint::Tier& tier,
                                               const checkpoint::CheckpointId& id) const;
  void queue_copies(const InventoryEntry& entry);
  [[nodiscard]] bool has_latest_link() const;
  void update_latest_link(const InventoryEntry& entry, const Result<std::uint64_t>& epoch);
  void remove_stale_latest_names(const checkpoint::Tier& tier, const std::stop_token& stop = {});
  void clean_up(std::size_t store, const std::stop_token& stop);
  // Aborts unfinished uploads by processes of older attempts, because these attempts have ended.
  void abort_abandoned_uploads(const checkpoint::Tier& tier, Attempt own, const std::stop_token& stop);
  // Reports a problem once, and again only if its text changes, because the same problem usually occurs after
  // each save. Reports nothing after a request to `stop`, because the call has probably failed for that.
  void report_once(const Result<void>& result, const std::string& what, const std::stop_token& stop = {});
  [[nodiscard]] const checkpoint::Tier& tier_of(std::size_t store) const {
    return plan_.tiers.all()[store + 1];
  }

  const MirrorPlan plan_;
  const std::shared_ptr<metrics::Meters> meters_;
  const std::shared_ptr<EventLog> events_;
  std::atomic<std::uint64_t> attempt_{0};
  std::atomic<std::uint32_t> rank_{0};
  std::atomic<std::uint32_t> world_size_{1};
  std::vector<std::unique_ptr<std::atomic<bool>>>
      has_failed_copy_;                                 // of each store: failed since its last copy
  const std::string process_mark_ = random_hex_name();  // of this process, in temporary links
  Mutex last_reports_mutex_;
  // The last report of each kind.
  std::map<std::string, std::string> last_reports_ RATOON_GUARDED_BY(last_reports_mutex_);
  mutable Mutex mutex_;
  // The newest checkpoint that is to be in all stores.
  std::optional<checkpoint::CheckpointId> newest_checkpoint_ RATOON_GUARDED_BY(mutex_);
  struct WaitingTicket {
    checkpoint::CheckpointId id;
    checkpoint::SavePromise ticket;
  };
  std::vector<WaitingTicket> waiting_tickets_ RATOON_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Worker>> workers_ RATOON_GUARDED_BY(mutex_);  // they use all but what follows
  std::jthread cleanup_thread_;  // cleans up the home if it is a store; the last member, too
};

}  // namespace ratoon::session
