// Remembers which starts of a job's processes were superseded by a later start of the same process, so that
// the coordinator refuses their late messages. Start numbers are random and do not tell which start is newer,
// so the start that joins last counts as newer. A pod chooses the names of its starts and may send any number
// of them, so only a few starts of each process are remembered, by the hashes of their names.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/contract/messages.h"
#include "operator/coordinator/process_key.h"

namespace ratoon::coordinator {

class SupersededStarts {
 public:
  // Adds a start. If the process has too many starts, drops its oldest one, whose late messages have arrived
  // by now.
  void add(const ProcessIdentity& process);
  // Records that the start joined: this start is current, and all other starts of its process are superseded.
  // Returns whether this start superseded another start.
  bool supersede_other_starts(const ProcessIdentity& process);
  [[nodiscard]] bool is_superseded(const ProcessIdentity& process) const;

 private:
  struct Start {
    std::uint64_t hash = 0;
    bool is_superseded = false;
  };
  [[nodiscard]] static std::uint64_t hash_of(const ProcessIdentity& process);

  std::unordered_map<ProcessKey, std::vector<Start>, ProcessKeyHash> starts_;  // oldest first
};

}  // namespace ratoon::coordinator
