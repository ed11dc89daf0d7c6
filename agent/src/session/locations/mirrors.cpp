#include "agent/src/session/locations/mirrors.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/src/checkpoint/commit/commit.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/load/run_in_parallel.h"
#include "agent/src/checkpoint/tiers/name_pattern.h"
#include "agent/src/checkpoint/tiers/stale_links.h"
#include "agent/src/checkpoint/tiers/stores/abandoned_uploads.h"
#include "agent/src/session/rendezvous/wait_reporter.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/clock.h"
#include "base/core/count_with_noun.h"
#include "base/core/random_name.h"
#include "base/core/threads/pause.h"

namespace ratoon::session {
namespace {

using checkpoint::CheckpointId;

constexpr Duration kWaitCheckInterval =
    std::chrono::milliseconds(100);  // how often to check whether to go on waiting

// The pointers to the newest checkpoint that are updated at the same time. One by one, the pointers of
// thousands of ranks would take minutes.
constexpr std::size_t kPointerThreads = 16;

// Returns the tier of a store as one whose calls end early when `stop` is requested. Calls to a store that is
// a folder keep their timeout instead.
checkpoint::Tier tier_with_stop(const checkpoint::Tier& tier, const std::stop_token& stop) {
  if (tier.store->store().local_path(checkpoint::kManifests)) return tier;
  const std::shared_ptr<objects::ObjectStore> objects(tier.store, &tier.store->store());
  auto store = std::make_shared<checkpoint::ObjectStoreDisk>(objects, stop);
  return {.kind_name = tier.kind_name, .disk = store, .store = store};
}

std::string text_of(const CheckpointId& id) {
  return "the checkpoint of step " + std::to_string(id.step.value());
}

}  // namespace

Mirrors::Mirrors(MirrorPlan plan, std::shared_ptr<metrics::Meters> meters, std::shared_ptr<EventLog> events)
    : plan_(std::move(plan)), meters_(std::move(meters)), events_(std::move(events)) {
  for (std::size_t i = 1; i < plan_.tiers.all().size(); ++i)
    has_failed_copy_.push_back(std::make_unique<std::atomic<bool>>(false));
}

void Mirrors::begin_attempt(const Assignment& assignment) {
  attempt_ = assignment.attempt.value();
  rank_ = assignment.rank.value();
  world_size_ = assignment.world_size;
  if (assignment.rank.value() != 0) return stop();
  const Attempt own = assignment.attempt;
  if (plan_.tiers.home().store) {
    cleanup_thread_ = std::jthread(
        [this, own](const std::stop_token& stop) { abort_abandoned_uploads(plan_.tiers.home(), own, stop); });
  }
  const MutexLock lock(mutex_);
  if (!workers_.empty()) return;
  for (std::size_t i = 0; i < has_failed_copy_.size(); ++i) {
    const auto told = [this, i](const CheckpointId& id, const Result<checkpoint::MirrorResult>& result,
                                const std::stop_token& stop) { note_result(i, id, result, stop); };
    const auto& tier = tier_of(i);
    // A MirrorWorker calls the function `begins` before its first copy in this attempt.
    const auto begins = [this, &tier, own](const std::stop_token& stop) {
      abort_abandoned_uploads(tier, own, stop);
    };
    const std::shared_ptr<objects::ObjectStore> store(tier.store, &tier.store->store());
    checkpoint::MirrorWorkerOptions options;
    options.before_first_copy = begins;
    options.on_result = told;
    workers_.push_back(std::make_unique<Worker>(plan_.tiers.home().disk, store, std::move(options)));
  }
}

void Mirrors::stop() {
  cleanup_thread_ = {};
  std::vector<std::unique_ptr<Worker>> ending;  // destroyed after the lock, which their threads may need
  const MutexLock lock(mutex_);
  ending.swap(workers_);
  fail_waiters([](const CheckpointId&) { return true; },
               {ErrorKind::kCancelled,
                "this process copies no further checkpoints to stores; the next start of the run continues "
                "the copies"});
}

void Mirrors::note_initial_checkpoints(const std::vector<checkpoint::TierInventory>& tiers) {
  for (std::size_t i = 1; i < tiers.size(); ++i) {
    const auto& complete = tiers[i].found.complete;
    if (!complete.empty()) meters_->stores[i - 1].durable_step = complete.front().step.value();
  }
}

void Mirrors::note_committed(const InventoryEntry& entry) {
  queue_copies(entry);
  if (has_latest_link()) update_latest_link(entry, epoch_of(plan_.tiers.home(), checkpoint::id_of(entry)));
}

void Mirrors::note_loaded(const InventoryEntry& entry, const std::optional<checkpoint::RunRecord>& run) {
  queue_copies(entry);
  if (has_latest_link()) update_latest_link(entry, checkpoint::epoch_of(run));
}

void Mirrors::queue_copies(const InventoryEntry& entry) {
  const CheckpointId id = checkpoint::id_of(entry);
  const MutexLock lock(mutex_);
  if (!newest_checkpoint_ || *newest_checkpoint_ < id) newest_checkpoint_ = id;
  for (const auto& worker : workers_) worker->note_committed(id);
}

void Mirrors::go_back_to(const std::optional<InventoryEntry>& newest) {
  const MutexLock lock(mutex_);
  newest_checkpoint_ = newest ? std::optional(checkpoint::id_of(*newest)) : std::nullopt;
  for (const auto& worker : workers_) worker->go_back_to(newest_checkpoint_);
  const auto is_newer = [this](const CheckpointId& id) RATOON_REQUIRES(mutex_) {
    return !newest_checkpoint_ || id > *newest_checkpoint_;
  };
  fail_waiters(is_newer, {ErrorKind::kCorrupted, "the checkpoint was committed but cannot be read"});
}

checkpoint::StoreCopies Mirrors::copies() const {
  checkpoint::StoreCopies copies;
  const MutexLock lock(mutex_);
  for (const auto& worker : workers_) copies.being_copied.merge(worker->being_copied());
  return copies;
}

void Mirrors::await(const CheckpointId& id, const checkpoint::SavePromise& ticket) {
  if (has_failed_copy_.empty()) return ticket.reach(SaveLevel::kStored);
  const MutexLock lock(mutex_);
  if (workers_.empty())
    return ticket.fail({ErrorKind::kUnavailable,
                        "only rank 0, which copies to the stores, knows which checkpoints they have"});
  std::erase_if(waiting_tickets_, [](const WaitingTicket& one) { return one.ticket.is_last_copy(); });
  waiting_tickets_.push_back({.id = id, .ticket = ticket});
  notify_waiters();
}

void Mirrors::update_waiters(std::size_t store, const CheckpointId& id,
                             const Result<checkpoint::MirrorResult>& result) {
  const MutexLock lock(mutex_);
  if (workers_.empty()) return;
  if (result) return notify_waiters();
  const bool is_given_up = workers_[store]->being_copied().empty();
  if (is_given_up) fail_waiters([&](const CheckpointId& one) { return one <= id; }, result.error());
}

void Mirrors::notify_waiters() {
  std::optional<CheckpointId> everywhere = workers_.front()->durable();
  for (const auto& worker : workers_) everywhere = std::min(everywhere, worker->durable());
  std::erase_if(waiting_tickets_, [&](const WaitingTicket& one) {
    if (everywhere < one.id) return false;
    one.ticket.reach(SaveLevel::kStored);
    return true;
  });
}

void Mirrors::fail_waiters(const std::function<bool(const CheckpointId&)>& is_for, const Error& why) {
  std::erase_if(waiting_tickets_, [&](const WaitingTicket& one) {
    if (!is_for(one.id)) return false;
    one.ticket.fail(why);
    return true;
  });
}

Result<std::optional<InventoryEntry>> Mirrors::find(const CheckpointId& id) const {
  for (std::size_t i = 0; i < has_failed_copy_.size(); ++i) {
    auto found = checkpoint::find_committed(*tier_of(i).disk, id);
    if (!found || *found) return found;
  }
  return std::optional<InventoryEntry>();
}

std::vector<std::string> Mirrors::wait_for_newest(Duration at_most,
                                                  const std::function<bool()>& goes_on) const {
  const auto began = std::chrono::steady_clock::now();
  const auto until = began + limit_to_one_year(at_most);
  std::vector<std::string> late;
  // The pointers to workers remain valid without the lock, because only this thread removes workers.
  std::vector<Worker*> all;
  CheckpointId id;
  {
    const MutexLock lock(mutex_);
    if (!newest_checkpoint_) return late;
    id = *newest_checkpoint_;
    for (const auto& worker : workers_) all.push_back(worker.get());
  }
  const SystemClock clock;
  WaitReporter spoken(clock);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Duration left = at_most;
    bool is_there = false;
    do {
      if (const auto time = spoken.due()) {
        say("waits for the copy of " + text_of(id) + " in " + tier_of(i).disk->shown("") + ", for " + *time +
            " until now: see the earlier lines about that store");
      }
      left = std::max(Duration(0), Duration(until - std::chrono::steady_clock::now()));
      is_there = all[i]->wait_for(id, std::min<Duration>(left, kWaitCheckInterval));
      // A worker that has given up a copy will not store it, however long this process waits.
    } while (!is_there && !all[i]->being_copied().empty() && left > Duration(0) && (!goes_on || goes_on()));
    while (is_there && !all[i]->wait_for_report(std::min<Duration>(left, kWaitCheckInterval)) &&
           left > Duration(0) && (!goes_on || goes_on()))
      left = std::max(Duration(0), Duration(until - std::chrono::steady_clock::now()));
    if (is_there || all[i]->durable() >= id) continue;
    const auto waited = std::chrono::steady_clock::now() - began;
    const auto durable = all[i]->durable();
    late.push_back(
        text_of(id) + " is not in " + tier_of(i).disk->shown("") + " after " +
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(waited).count()) + " s" +
        (durable ? ", which has the checkpoint of step " + std::to_string(durable->step.value()) : "") +
        ": the checkpoint is in " + plan_.tiers.home().disk->shown("") +
        ", and the next start of the run copies it to that store");
  }
  return late;
}

void Mirrors::report_once(const Result<void>& result, const std::string& what, const std::stop_token& stop) {
  if (!result && stop.stop_requested()) return;
  std::string trouble = result ? "" : result.error().message();
  {
    const MutexLock lock(last_reports_mutex_);
    std::string& said = last_reports_[what];
    if (said == trouble) return;
    said = trouble;
  }
  if (!result) events_->add(what + ": " + trouble);
}

void Mirrors::note_result(std::size_t store, const CheckpointId& id,
                          const Result<checkpoint::MirrorResult>& result, const std::stop_token& stop) {
  metrics::StoreMeters& meters = meters_->stores[store];
  update_waiters(store, id, result);
  if (!result) {
    ++meters.missed_copies;
    // Report only the first failed copy, not each retry.
    if (!has_failed_copy_[store]->exchange(true)) {
      const bool is_retried = checkpoint::may_copy_succeed_later(result.error());
      events_->add(text_of(id) + " could not be copied to " + meters.uri + "; training goes on, and " +
                   (is_retried
                        ? "the copy is tried again: "
                        : "the copy of this checkpoint is not tried again, but the next one is copied: ") +
                   result.error().message());
    }
    return;
  }
  meters.durable_step = id.step.value();
  meters.durable_since.set(SystemClock().now());
  if (has_failed_copy_[store]->exchange(false)) events_->add(text_of(id) + " is in " + meters.uri + " now");
  update_store_pointers(store, id, result->digest, stop);
  clean_up(store, stop);
}

void Mirrors::update_store_pointers(std::size_t store, const CheckpointId& id, const std::string& digest,
                                    const std::stop_token& stop) {
  if (plan_.latest_name.empty()) return;
  const checkpoint::Tier tier = tier_with_stop(tier_of(store), stop);
  const auto epoch = epoch_of(tier, id);
  const bool is_for_each = plan_.latest_name.find("{rank}") != std::string::npos;
  const std::uint32_t count = is_for_each ? world_size_.load() : 1;
  Mutex mutex;
  Result<void> pointed;  // the first error: the pointers of the other ranks are written nevertheless
  const auto update = [&](std::size_t rank, std::size_t) -> Result<void> {
    if (stop.stop_requested()) return Error(ErrorKind::kCancelled, "this process copies nothing further");
    auto one = update_latest_pointer(
        tier, {.id = id, .digest = digest, .rank = Rank(static_cast<std::uint32_t>(rank))}, epoch);
    const MutexLock lock(mutex);
    if (pointed && !one) pointed = std::move(one);
    return {};
  };
  auto ran = checkpoint::run_in_parallel(count, std::min<std::size_t>(count, kPointerThreads), update);
  report_once(ran ? pointed : ran,
              "the pointer to the newest checkpoint could not be updated in " + meters_->stores[store].uri,
              stop);
}

Result<std::uint64_t> Mirrors::epoch_of(const checkpoint::Tier& tier, const CheckpointId& id) const {
  if (plan_.latest_name.find("{epoch}") == std::string::npos) return 0;
  const auto sealed = checkpoint::read_manifest(*tier.disk, id);
  if (!sealed) return sealed.error();
  return checkpoint::epoch_of(sealed->manifest.run);
}

Result<void> Mirrors::update_latest_pointer(const checkpoint::Tier& tier,
                                            const checkpoint::LatestCheckpoint& latest,
                                            const Result<std::uint64_t>& epoch) const {
  if (!epoch) return epoch.error();
  const auto name = checkpoint::expand_name(plan_.latest_name, {.run_name = plan_.run_name,
                                                                .epoch = *epoch,
                                                                .batch = latest.id.step.value(),
                                                                .rank = latest.rank.value(),
                                                                .timestamp = SystemClock().wall_now()});
  if (!name) return name.error();
  return tier.store ? checkpoint::update_latest(*tier.store, *name, latest)
                    : checkpoint::update_latest(std::filesystem::path(plan_.run_folder), *name, latest,
                                                process_mark_);
}

void Mirrors::abort_abandoned_uploads(const checkpoint::Tier& tier, Attempt own,
                                      const std::stop_token& stop) {
  const auto aborted = checkpoint::abort_abandoned_uploads(tier.store->store(), own, stop);
  if (!aborted && stop.stop_requested()) return;
  report_once(aborted ? Result<void>() : aborted.error(),
              "unfinished uploads of ended processes could not be removed yet from " + tier.disk->shown(""));
  if (aborted && *aborted > 0) {
    events_->add("aborted " + count_with_noun(*aborted, "upload") +
                 " of an older attempt that did not finish, in " + tier.disk->shown(""));
  }
}

// Returns whether to keep links to the newest checkpoint. With --keep-last=0, no link is kept, because no
// checkpoint to which it could point stays in the run's folder.
bool Mirrors::has_latest_link() const {
  return !plan_.latest_name.empty() && plan_.home_rules.last != 0;
}

void Mirrors::update_latest_link(const InventoryEntry& entry, const Result<std::uint64_t>& epoch) {
  const checkpoint::LatestCheckpoint latest{
      .id = checkpoint::id_of(entry), .digest = entry.digest, .rank = Rank(rank_.load())};
  report_once(update_latest_pointer(plan_.tiers.home(), latest, epoch),
              "the link to the newest checkpoint could not be updated");
}

void Mirrors::remove_stale_links() {
  if (has_latest_link()) remove_stale_latest_names(plan_.tiers.home());
}

// A link or pointer with a fixed name needs no removal, because each commit replaces it. If the link's name
// has the step or epoch, links to older checkpoints remain until remove_stale_latest_names() removes them.
void Mirrors::remove_stale_latest_names(const checkpoint::Tier& tier, const std::stop_token& stop) {
  if (tier.store && !checkpoint::changes_with_checkpoints(plan_.latest_name)) return;
  report_once(tier.store
                  ? checkpoint::remove_stale_pointers(*tier.store, plan_.latest_name, plan_.run_name)
                  : checkpoint::remove_stale_links(plan_.run_folder, plan_.latest_name, plan_.run_name),
              "links to removed checkpoints could not be removed yet from " + tier.disk->shown(""), stop);
}

void Mirrors::clean_up(std::size_t store, const std::stop_token& stop) {
  const Attempt own(attempt_.load());
  if (stop.stop_requested() || !plan_.may_clean_up(*tier_of(store).disk)) return;
  const checkpoint::Tier tier = tier_with_stop(tier_of(store), stop);
  const auto there = checkpoint::RunStore::open(tier.disk, random_hex_name());
  report_once(there ? there->retire_old(plan_.store_rules, own, {}, checkpoint::ReadBackScope::kHeaders)
                    : Result<void>(there.error()),
              "old checkpoints could not be removed yet from " + meters_->stores[store].uri, stop);
  remove_stale_latest_names(tier, stop);
  if (stop.stop_requested() || plan_.home_rules.last != 0 || !plan_.may_clean_up(*plan_.tiers.home().disk))
    return;
  checkpoint::StoreCopies known = copies();
  for (std::size_t i = 0; i < has_failed_copy_.size(); ++i) {
    // List the store again, because another process may have removed checkpoints from it.
    const auto found = checkpoint::take_inventory(*tier_of(i).disk);
    if (!found)
      return report_once(found.error(),
                         "checkpoints that the stores have could not be removed yet from the run's folder");
    std::set<CheckpointId> there_too;
    for (const auto& entry : found->complete) there_too.insert(checkpoint::id_of(entry));
    if (i == 0) known.in_store = there_too;
    std::erase_if(known.in_store, [&](const CheckpointId& id) { return !there_too.contains(id); });
  }
  const auto home = checkpoint::RunStore::open(plan_.tiers.home().disk, random_hex_name());
  report_once(home ? home->retire_old(plan_.home_rules, own, known) : Result<void>(home.error()),
              "checkpoints that the stores have could not be removed yet from the run's folder");
}

}  // namespace ratoon::session
