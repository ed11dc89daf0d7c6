// With --autoresume=false, a launch that finds checkpoints of the run is refused. A restart of a lost rank
// belongs to an accepted launch and must not be refused, so the run's home has a record of accepted launches.
//
//   launches/<digest of the launch's name>.2     let in, when its launcher had started it anew twice
#pragma once

#include <string_view>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::session {

// Returns whether a launch in `launches` was accepted before: its unique name is recorded, or its name with a
// lower number of restarts is recorded. The numbers are compared because torchrun gives all launches the same
// name, "none", by default.
[[nodiscard]] Result<bool> was_accepted_before(const checkpoint::Disk& home,
                                               const std::vector<LaunchName>& launches);

// Records that the launches in `launches`, with their current numbers of restarts, are accepted and all
// others are not. `mark` is the name that this process uses for its temporary files.
[[nodiscard]] Result<void> record_accepted_launches(checkpoint::Disk& home,
                                                    const std::vector<LaunchName>& launches,
                                                    std::string_view mark);

}  // namespace ratoon::session
