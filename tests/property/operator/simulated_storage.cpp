#include "tests/property/operator/simulated_storage.h"

#include <algorithm>

#include "base/contract/resume_point.h"
#include "tests/support/builders.h"

namespace ratoon::sim {

void Storage::commit(const Lineage& id, const std::set<std::string>& nodes, Timestamp now, Timestamp due) {
  const bool is_volume = tiers_ == Tiers::kVolume;
  Saved made{.digest = test::checkpoint(id.first.value(), id.second.value()).digest,
             .is_shared = is_volume,
             .nodes = {},
             .due = {},
             .shared_since = now};
  if (!is_volume) made.nodes = nodes;
  if (tiers_ == Tiers::kLocalAndStore) made.due = due;
  all_.emplace(id, std::move(made));
  remove_old();
}

void Storage::adopt(const Lineage& id) {
  all_.emplace(id, Saved{.digest = test::checkpoint(id.first.value(), id.second.value()).digest,
                         .is_shared = true,
                         .nodes = {},
                         .due = {},
                         .shared_since = {}});
}

void Storage::finish_copies(Timestamp now) {
  bool is_any_new = false;
  for (auto& [id, saved] : all_) {
    if (!saved.due || *saved.due > now) continue;
    saved.due.reset();
    saved.is_shared = is_any_new = true;
    saved.shared_since = now;
  }
  if (is_any_new) remove_old();
}

void Storage::stop_copies() {
  for (auto& [id, saved] : all_) saved.due.reset();
}

void Storage::lose_node(const std::string& node) {
  for (auto& [id, saved] : all_) saved.nodes.erase(node);
}

void Storage::give_up_all_but(const Lineage& id) {
  for (auto& [other, saved] : all_) saved.is_given_up |= other != id && other.first == id.first;
}

// The newest checkpoints that all reach stay, this number of them, and all newer ones.
void Storage::remove_old() {
  if (keeps_ == 0) return;
  std::uint64_t kept = 0;
  for (auto it = all_.rbegin(); it != all_.rend(); ++it) {
    Saved& saved = it->second;
    if (!saved.is_sound()) continue;
    const bool counts = tiers_ != Tiers::kLocalAndStore || saved.is_shared;
    if (kept >= keeps_) saved.is_removed = true;
    if (counts) ++kept;
  }
}

InventoryEntry Storage::entry_of(const Lineage& id) const {
  const Saved& saved = all_.at(id);
  const char* shared = tiers_ == Tiers::kVolume ? "volume" : "store";
  return test::checkpoint(id.first.value(), id.second.value(), saved.is_shared ? shared : "local");
}

std::vector<InventoryEntry> Storage::look(const std::string& node,
                                          const std::set<Lineage>& unreadable) const {
  std::vector<InventoryEntry> found;
  for (const auto& [id, saved] : all_) {
    if (!saved.is_within_reach(node)) continue;
    InventoryEntry entry = entry_of(id);
    if (saved.is_given_up) entry.digest = kAbandonedDigest;
    entry.is_complete = !saved.is_given_up && !unreadable.contains(id);
    found.push_back(std::move(entry));
  }
  return found;
}

bool Storage::has_any_for_all() const {
  return std::ranges::any_of(
      all_, [](const auto& item) { return item.second.is_shared && item.second.is_sound(); });
}

}  // namespace ratoon::sim
