// join_world() asks to join a world, and reports from which checkpoints this process could resume.
#pragma once

#include <functional>
#include <map>

#include "agent/src/session/link/link.h"
#include "agent/src/session/locations/checkpoint_locations.h"

namespace ratoon::session {

using Unreadable =
    std::map<checkpoint::CheckpointId, ErrorKind>;  // those that this process could not load, and why

// How join_world() lists checkpoints, and how it pauses before it lists them again.
struct InventoryPolling {
  std::function<Result<checkpoint::Inventory>()> look;
  std::function<void(Duration)> pause;
};

// A process waits for a world without a limit. Throws Failure if there will be no world.
[[nodiscard]] Assignment join_world(Link& link, CheckpointLocations& places, const Unreadable& unreadable);
[[nodiscard]] Assignment join_world(Link& link, CheckpointLocations& places, const Unreadable& unreadable,
                                    const InventoryPolling& looking);

}  // namespace ratoon::session
