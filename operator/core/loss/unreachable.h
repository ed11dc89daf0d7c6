// Finds members of a world that cannot connect to each other although all send messages to this operator: the
// network between their nodes is cut, or a network policy blocks it. If the operator did not find the broken
// links, the members would wait for each other, and the wait would count as a hang of the program.
//
// A member tests its connections to peers while it waits for them, and its heartbeats name the peers that it
// cannot reach. Each reported pair is a broken link between two nodes; either end may be the cause. The
// culprit is on the node with the most broken links: many members report this node, or this node reports many
// others. If several nodes have equally many broken links, nodes that report others but are not reported
// themselves come first; then the node of the member that is last in the roster comes first. If the job makes
// no step after this member was replaced, the next culprit is on the next node in this order.
//
// A member that is only slow is no culprit: its kernel accepts connections from the start, even while the
// program loads. No member counts as the culprit while the world makes steps. A lost member accepts no
// connections either, but silence.h has the rules for it. So no member counts as the culprit until the
// members at both ends of each broken link have sent a message after the report of the link.
#pragma once

#include <optional>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

struct UnreachableMembers {
  bool is_any_reported = false;  // members are named, heard or not: that explains why the world makes no step
  std::optional<MemberToReplace> culprit;
  std::optional<Timestamp> next_check;  // when the present complaints will have lasted long enough
};

[[nodiscard]] UnreachableMembers find_unreachable(const Observation& seen, Timestamp now);

}  // namespace ratoon::core
