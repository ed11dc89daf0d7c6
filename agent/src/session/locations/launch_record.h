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

// Returns whether one of the launches was accepted before: it has a recorded unique name, or its launcher has
// restarted it since it was recorded. The number of restarts is needed because torchrun names each launch
// "none".
[[nodiscard]] Result<bool> was_accepted_before(const checkpoint::Disk& home,
                                               const std::vector<LaunchName>& launches);

// Records that exactly these launches, with their current numbers of restarts, are accepted. `mark` is a name
// of this process for temporary files.
[[nodiscard]] Result<void> record_accepted_launches(checkpoint::Disk& home,
                                                    const std::vector<LaunchName>& launches,
                                                    std::string_view mark);

}  // namespace ratoon::session
