// --autoresume false: a start that finds checkpoints is refused. What a launcher starts again, after a loss,
// is the same start: the run's home says which launches were let in.
//
//   launches/<digest of the launch's name>.2     let in, when its launcher had started it anew twice
#pragma once

#include <string_view>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::session {

// Whether one of these was let in before: under a name that no other launch has, or one that its launcher has
// started anew since then. The name alone is not enough: torchrun calls each launch "none".
[[nodiscard]] Result<bool> was_let_in(const checkpoint::Disk& home, const std::vector<LaunchName>& launches);

// From now on these are, as they stand now, and no others. `mark` names this process in temporary files.
[[nodiscard]] Result<void> let_in(checkpoint::Disk& home, const std::vector<LaunchName>& launches,
                                  std::string_view mark);

}  // namespace ratoon::session
