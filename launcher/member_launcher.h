// Runs the program of a member: starts it in each world, forwards notice, reaps processes, and returns the
// exit code of the launcher.
#pragma once

#include <string>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "launcher/member_settings.h"

namespace ratoon::launcher {

// Must be called in the first thread of the process, before other threads exist. `environment` is that of
// this process, as "NAME=value".
[[nodiscard]] Result<int> launch_member(const MemberSettings& settings,
                                        const std::vector<std::string>& command,
                                        const std::vector<std::string>& environment, const Clock& clock);

}  // namespace ratoon::launcher
