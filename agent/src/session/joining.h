// Joining: asks for a seat in a world, and tells of the checkpoints that this process could resume from.
#pragma once

#include <functional>
#include <map>

#include "agent/src/session/link.h"
#include "agent/src/session/places.h"

namespace ratoon::session {

using Unreadable =
    std::map<checkpoint::CheckpointId, ErrorKind>;  // what this process could not load, and why

// How it looks for checkpoints, and waits before it looks again.
struct Looking {
  std::function<Result<checkpoint::Inventory>()> look;
  std::function<void(Duration)> pause;
};

// Waits for as long as it takes. Throws Failure where there will be no seat.
[[nodiscard]] Assignment join_world(Link& link, Places& places, const Unreadable& unreadable);
[[nodiscard]] Assignment join_world(Link& link, Places& places, const Unreadable& unreadable,
                                    const Looking& looking);

}  // namespace ratoon::session
