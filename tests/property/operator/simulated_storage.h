// The places of a simulated job's checkpoints, and the ways of losing them. All processes reach a volume or a
// store; only processes on a node reach its disk. Retention removes old ones, a disk damages some, a rollback
// gives some up. This class decides which checkpoints a process finds, and the laws ask this class and not
// the core.
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

  // The checkpoint is whole on all the disks of the processes that saved it; `due` is the time at which the
  // store has it.
  void commit(const Lineage& id, const std::set<std::string>& nodes, Timestamp now, Timestamp due);
  // Checkpoints of a run before this job's.
  void adopt(const Lineage& id);
  void finish_copies(Timestamp now);
  // When a world ends, its unsent checkpoints are never sent.
  void stop_copies();
  // The node's disk is empty from then on.
  void lose_node(const std::string& node);
  void damage(const Lineage& id) { all_.at(id).is_damaged = true; }
  // All checkpoints of its attempt but this one.
  void give_up_all_but(const Lineage& id);

  [[nodiscard]] const std::map<Lineage, Saved>& all() const { return all_; }
  [[nodiscard]] bool holds(const Lineage& id) const { return all_.contains(id); }
  // The checkpoints that a process on that node finds; `unreadable` has those that it could not load.
  [[nodiscard]] std::vector<InventoryEntry> look(const std::string& node,
                                                 const std::set<Lineage>& unreadable) const;
  [[nodiscard]] InventoryEntry entry_of(const Lineage& id) const;
  // Whether all processes can resume a checkpoint.
  [[nodiscard]] bool has_any_for_all() const;

 private:
  void remove_old();

  Tiers tiers_;
  std::uint64_t keeps_;  // 0: all
  std::map<Lineage, Saved> all_;
};

}  // namespace ratoon::sim
