// Joining: asks for a seat in a world, and tells of the checkpoints that this process could resume from.
#pragma once

#include <map>

#include "agent/src/session/link.h"
#include "agent/src/session/places.h"

namespace ratoon::session {

using Unreadable =
    std::map<checkpoint::CheckpointId, ErrorKind>;  // what this process could not load, and why

// Waits for as long as it takes. Throws Failure where there will be no seat.
[[nodiscard]] Assignment join_world(Link& link, Places& places, const Unreadable& unreadable);

}  // namespace ratoon::session
