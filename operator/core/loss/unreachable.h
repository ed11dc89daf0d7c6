// Members of a world that cannot connect to each other while this operator hears all of them: the network
// between their nodes is cut, or a policy blocks it. Without this judgement they would wait for each other,
// and the wait would count as a hang of the program.
//
// Each member probes its peers while it waits for them, and its beats name those that it cannot reach. Each
// pair that is named is a broken link between two nodes; no end of it is to blame by itself. The culprit is
// on the node with the most broken links: the one that most others cannot reach, and also the one that alone
// accuses all others. Among nodes with equally many, first comes one that accuses and is accused by no
// member, then the one of the last member. If the job makes no step after that member was replaced, the next
// judgement takes the next of them.
//
// A slow member is not to blame: its system accepts connections from the first moment, also while the program
// loads. Nor is any member while its world makes steps, or before both ends of each broken link were heard
// again after the link was named: the process of a member that is lost answers no connection either.
#pragma once

#include <optional>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

struct Unreachable {
  bool is_any = false;  // members are named, heard or not: that explains why the world makes no step
  std::optional<CondemnedMember> culprit;
  std::optional<Timestamp> next_check;  // when the present complaints will have lasted long enough
};

[[nodiscard]] Unreachable find_unreachable(const Observation& seen, Timestamp now);

}  // namespace ratoon::core
