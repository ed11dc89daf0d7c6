// Mirrors: what happens beside training once a checkpoint is committed at home: copies in the run's stores,
// what is kept there, and names that point to the newest. What goes wrong is an event and a metric.
//
// Thread contract: note_committed(), go_back_to(), copies() and await() from any thread, the rest from the
// trainer's.
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

#include "agent/src/checkpoint/run_store.h"
#include "agent/src/checkpoint/ticket.h"
#include "agent/src/checkpoint/tiers/latest.h"
#include "agent/src/checkpoint/tiers/mirror_worker.h"
#include "agent/src/checkpoint/tiers/tiers.h"
#include "agent/src/metrics/meters.h"
#include "agent/src/session/event_log.h"
#include "base/contract/messages.h"
#include "base/core/random_name.h"

namespace ratoon::session {

struct MirrorPlan {
  checkpoint::Tiers tiers;  // the first is the home
  checkpoint::KeepRules home_rules{};
  checkpoint::KeepRules store_rules{};
  std::string run_folder{};   // of the home, for links; empty: it is a store
  std::string latest_name{};  // empty: none
  std::string run_name{};
  // Whether this job still owns that place of its tiers; false: nothing is removed there.
  std::function<bool(const checkpoint::Disk&)> may_clean_up = [](const auto&) { return true; };
};

class Mirrors {
 public:
  // The meters have one store for each of the plan's.
  Mirrors(MirrorPlan plan, std::shared_ptr<metrics::Meters> meters, std::shared_ptr<EventLog> events);

  // What this process does in the attempt: rank 0 copies what is committed, each rank has a link of its own.
  void begin_attempt(const Assignment& assignment);
  // What is under way ends; the next one finishes it.
  void stop();

  // For the metrics: what was found at the start.
  void note_found(const std::vector<checkpoint::TierInventory>& tiers);
  // From a thread that may wait for the disk: a name that has the epoch asks the manifest.
  void note_committed(const InventoryEntry& entry);
  // The same of what was loaded from home, by who trains: `run` is what its manifest says.
  void note_loaded(const InventoryEntry& entry, const std::optional<checkpoint::RunRecord>& run);
  // Links of ours at home, of all ranks, that lead to what was let go.
  void remove_old_links();
  // What was told of last does not read back; `newest` is the newest that is left.
  void go_back_to(const std::optional<InventoryEntry>& newest);
  // In every store, and what must stay at home meanwhile. For the folder's retention, which asks in vain what
  // the stores hold: the copying thread cleans up at home where nothing is to stay there.
  [[nodiscard]] checkpoint::Copies copies() const;
  // Tells the ticket of a commit once each store has that checkpoint, or a newer one.
  void await(const checkpoint::CheckpointId& id, const checkpoint::Ticket& ticket);
  // What a store holds under this name. From any thread, on any rank.
  [[nodiscard]] Result<std::optional<InventoryEntry>> find(const checkpoint::CheckpointId& id) const;
  // A sentence for each store that does not have what was told of last within that time.
  // `goes_on` is asked now and then and may end it; null: nothing does.
  [[nodiscard]] std::vector<std::string> wait_for_newest(Duration at_most,
                                                         const std::function<bool()>& goes_on = {}) const;

 private:
  using Worker = checkpoint::MirrorWorker;
  void note_result(std::size_t store, const checkpoint::CheckpointId& id,
                   const Result<checkpoint::Mirrored>& result);
  void hear_of(std::size_t store, const checkpoint::CheckpointId& id,
               const Result<checkpoint::Mirrored>& result);
  // With the lock.
  void tell_who_waits();
  void fail_who_waits(const std::function<bool(const checkpoint::CheckpointId&)>& is_for, const Error& why);
  void point_to(std::size_t store, const checkpoint::CheckpointId& id, const std::string& digest);
  [[nodiscard]] Result<void> point(const checkpoint::Tier& tier, const checkpoint::Latest& latest,
                                   const Result<std::uint64_t>& epoch) const;
  // 0 where no name says it.
  [[nodiscard]] Result<std::uint64_t> epoch_of(const checkpoint::Tier& tier,
                                               const checkpoint::CheckpointId& id) const;
  void pass_on(const InventoryEntry& entry);
  [[nodiscard]] bool has_link() const;
  void link_to(const InventoryEntry& entry, const Result<std::uint64_t>& epoch);
  void remove_old_names(const checkpoint::Tier& tier);
  void clean_up(std::size_t store);
  // What processes of older attempts were sending when they died.
  void abort_dead_uploads(const checkpoint::Tier& tier, Attempt own, const std::stop_token& stop);
  // Once, and again only when there is something else to say: what is in the way of a save is in the way of
  // the next as well.
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
  std::vector<std::unique_ptr<std::atomic<bool>>> is_behind_;  // of each store: told, and not yet made up for
  const std::string mark_ = draw_name();                       // of this process, in temporary links
  std::mutex troubles_mutex_;
  std::map<std::string, std::string> troubles_;  // guarded by troubles_mutex_; what was said of each last
  mutable std::mutex mutex_;
  std::optional<checkpoint::CheckpointId> newest_;  // guarded by mutex_; that is to be in all stores
  struct Awaited {
    checkpoint::CheckpointId id;
    checkpoint::Ticket ticket;
  };
  std::vector<Awaited> awaited_;                  // guarded by mutex_
  std::vector<std::unique_ptr<Worker>> workers_;  // guarded by mutex_; they use all but what follows
  std::jthread tidying_;                          // the home, where it is a store; the last member, too
};

}  // namespace ratoon::session
