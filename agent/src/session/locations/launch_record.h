// With --autoresume false, a start that finds checkpoints is refused. A restart of a lost rank by the
// launcher belongs to the same start, so the run's home records which launches were accepted.
//
//   launches/<digest of the launch's name>.2     let in, when its launcher had started it anew twice
#pragma once

#include <string_view>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::session {

// Returns whether a launch was accepted before: its name is unique, or its launcher has restarted it since.
// The name alone is not enough, because torchrun calls each launch "none".
[[nodiscard]] Result<bool> was_accepted_before(const checkpoint::Disk& home,
                                               const std::vector<LaunchName>& launches);

// Records that the given launches are accepted, and no others, with their current number of restarts. `mark`
// names this process in temporary files.
[[nodiscard]] Result<void> record_accepted_launches(checkpoint::Disk& home,
                                                    const std::vector<LaunchName>& launches,
                                                    std::string_view mark);

}  // namespace ratoon::session
