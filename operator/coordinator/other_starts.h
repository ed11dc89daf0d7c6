// The starts of a job's processes that were heard before another start of the same process. Nothing in a
// start tells which of two is newer; the one that joins last is, and what the others still had on the wire
// counts for nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/contract/messages.h"
#include "operator/coordinator/place.h"

namespace ratoon::coordinator {

class OtherStarts {
 public:
  // The oldest of all goes where there are too many: late messages come within seconds.
  void add(const ProcessIdentity& process);
  // It joined: it is none of them, and all others of its process are superseded. Returns whether one became
  // so.
  bool supersede_for(const ProcessIdentity& process);
  [[nodiscard]] bool is_superseded(const ProcessIdentity& process) const;

 private:
  struct Other {
    ProcessIdentity process;
    std::uint64_t turn = 0;
    bool is_superseded = false;
  };

  void forget(std::uint64_t turn);

  std::unordered_map<Place, std::vector<Other>, PlaceHash> others_;
  std::map<std::uint64_t, Place> turns_;  // oldest first
  std::uint64_t next_turn_ = 0;
};

}  // namespace ratoon::coordinator
