// The file in which a program reads why it got SIGTERM and when it will be killed.
#pragma once

#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::launcher {

// Returns {"deadline_unix_seconds": ..., "reason": ...} as a line of JSON.
[[nodiscard]] std::string notice_text(WallTime deadline, const std::string& reason);

// Replaces the file in one step, so that a program never reads a part of it.
[[nodiscard]] Result<void> write_notice(const std::string& path, const std::string& text);
// Removes the notice of an earlier world.
void remove_notice(const std::string& path);

}  // namespace ratoon::launcher
