// Where a simulated job's checkpoints are, and how they are lost. On a volume, or in a store, all reach them;
// on the disk of a node only those who are there. Retention removes old ones, a disk damages some, a rollback
// gives some up. What a process finds in its look is what this says, and the laws ask this and not the core.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::sim {

using Lineage = std::pair<Attempt, Step>;

enum class Tiers { kVolume, kLocalAndStore, kLocal };

class Storage {
 public:
  struct Saved {
    std::string digest;
    bool is_shared = false;        // on the volume or in the store
    std::set<std::string> nodes;   // whose disk has a copy
    std::optional<Timestamp> due;  // when the copy in the store is whole
    Timestamp shared_since;        // where it is
    bool is_damaged = false;
    bool is_given_up = false;
    bool is_removed = false;

    [[nodiscard]] bool is_sound() const { return !is_damaged && !is_given_up && !is_removed; }
    [[nodiscard]] bool is_within_reach(const std::string& node) const {
      return !is_removed && (is_shared || nodes.contains(node));
    }
  };

  explicit Storage(Tiers tiers, std::uint64_t keeps) : tiers_(tiers), keeps_(keeps) {}

  // Whole on all the disks of those who saved it; `due` is when the store has it.
  void commit(const Lineage& id, const std::set<std::string>& nodes, Timestamp now, Timestamp due);
  // Of a run before this job's.
  void adopt(const Lineage& id);
  void finish_copies(Timestamp now);
  // Of a world that is gone nobody sends what was not sent yet.
  void stop_copies();
  // Its disk is empty from then on.
  void lose_node(const std::string& node);
  void damage(const Lineage& id) { all_.at(id).is_damaged = true; }
  // All but this one, of those of its attempt.
  void give_up_all_but(const Lineage& id);

  [[nodiscard]] const std::map<Lineage, Saved>& all() const { return all_; }
  [[nodiscard]] bool holds(const Lineage& id) const { return all_.contains(id); }
  // What a process on that node finds; `unreadable` is what it could not load.
  [[nodiscard]] std::vector<InventoryEntry> look(const std::string& node,
                                                 const std::set<Lineage>& unreadable) const;
  [[nodiscard]] InventoryEntry entry_of(const Lineage& id) const;
  // Whether all can resume something.
  [[nodiscard]] bool has_any_for_all() const;

 private:
  void remove_old();

  Tiers tiers_;
  std::uint64_t keeps_;  // 0: all
  std::map<Lineage, Saved> all_;
};

}  // namespace ratoon::sim
