// join_world(): waits for the other ranks of the next attempt, and reports from which checkpoints this
// process could resume.
#pragma once

#include <functional>
#include <map>

#include "agent/src/session/link/link.h"
#include "agent/src/session/locations/checkpoint_locations.h"

namespace ratoon::session {

using UnreadableCheckpoints =
    std::map<checkpoint::CheckpointId, ErrorKind>;  // those that this process could not load, and why

// join_world() lists checkpoints with the function `look`, and calls `pause` before it repeats the listing.
struct ListingFunctions {
  std::function<Result<checkpoint::Inventory>()> look;
  std::function<void(Duration)> pause;
};

// Waits without a time limit for an assignment to an attempt. Throws Failure if this process can join no
// attempt.
[[nodiscard]] Assignment join_world(Link& link, CheckpointLocations& places,
                                    const UnreadableCheckpoints& unreadable);
[[nodiscard]] Assignment join_world(Link& link, CheckpointLocations& places,
                                    const UnreadableCheckpoints& unreadable, const ListingFunctions& looking);

}  // namespace ratoon::session
