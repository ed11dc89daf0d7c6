// Finds members of a world that cannot connect to each other although all send messages to this operator: the
// network between their nodes is cut, or a network policy blocks it. If the operator did not find the broken
// links, the members would wait for each other, and the wait would count as a hang of the program.
//
// A member tests its connections to peers while it waits for them, and its heartbeats name the peers that it
// cannot reach. Each reported pair is a broken link between two nodes; either end may be the cause. The
// culprit is on the node with the most broken links: many members report that node, or that node reports many
// others. If several nodes have equally many broken links, a node that reports others and is not reported
// itself comes first, then the node of the member that is last in the roster. If the job makes no step after
// the culprit was replaced, the next culprit is on the node that follows in this order of nodes.
//
// A slow member is no culprit: its kernel accepts connections from the start, also while the program loads.
// No member counts as the culprit while the world makes steps. A lost member accepts no connections either,
// so no member counts as the culprit before the members at both ends of each broken link have sent a message
// after the report of the link.
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
