// join_world(): waits for the other ranks of the next attempt, and reports from which checkpoints this
// process could resume.
#pragma once

#include <functional>
#include <map>

#include "agent/src/session/link/link.h"
#include "agent/src/session/locations/checkpoint_locations.h"

namespace ratoon::session {

using Unreadable =
    std::map<checkpoint::CheckpointId, ErrorKind>;  // those that this process could not load, and why

// The functions with which join_world() lists checkpoints and pauses before it lists them again.
struct InventoryPolling {
  std::function<Result<checkpoint::Inventory>()> look;
  std::function<void(Duration)> pause;
};

// Waits without a time limit for an assignment to an attempt. Throws Failure if this process can join no
// attempt.
[[nodiscard]] Assignment join_world(Link& link, CheckpointLocations& places, const Unreadable& unreadable);
[[nodiscard]] Assignment join_world(Link& link, CheckpointLocations& places, const Unreadable& unreadable,
                                    const InventoryPolling& looking);

}  // namespace ratoon::session
