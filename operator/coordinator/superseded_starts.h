// Remembers which starts of a job's processes were superseded by a later start of the same process, so that
// the coordinator refuses their late messages. Start numbers are random and do not tell which start is newer,
// so the start that joins last counts as newer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/contract/messages.h"
#include "operator/coordinator/process_key.h"

namespace ratoon::coordinator {

class SupersededStarts {
 public:
  // Adds a start. If there are too many starts, drops the oldest, whose late messages have arrived by now.
  void add(const ProcessIdentity& process);
  // Records that the start joined: this start is current, and all other starts of its process are superseded.
  // Returns whether this start superseded another start.
  bool supersede_other_starts(const ProcessIdentity& process);
  [[nodiscard]] bool is_superseded(const ProcessIdentity& process) const;

 private:
  struct Start {
    ProcessIdentity process;
    std::uint64_t sequence_number = 0;
    bool is_superseded = false;
  };

  void forget(std::uint64_t sequence_number);

  std::unordered_map<ProcessKey, std::vector<Start>, ProcessKeyHash> starts_;
  std::map<std::uint64_t, ProcessKey> starts_by_sequence_number_;  // oldest first
  std::uint64_t next_sequence_number_ = 0;
};

}  // namespace ratoon::coordinator
