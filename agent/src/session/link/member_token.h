// Reads the token with which this process authenticates to the coordinator.
#pragma once

#include <memory>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/token_file.h"

namespace ratoon::session {

// Returns kInvalid if the token's file is missing or empty, and the error of the read if the file exists but
// cannot be read. `clock` must outlive the returned TokenFile.
[[nodiscard]] Result<std::unique_ptr<TokenFile>> open_token_file(const MemberOptions& member,
                                                                 const Clock& clock);

}  // namespace ratoon::session
