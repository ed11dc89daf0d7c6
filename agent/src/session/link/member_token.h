// Reads the token by which a coordinator recognizes this process.
#pragma once

#include <memory>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/token_file.h"

namespace ratoon::session {

// Returns kInvalid if the token's file is missing or empty, and the read error if the file exists but cannot
// be read now. `clock` must outlive the result.
[[nodiscard]] Result<std::unique_ptr<TokenFile>> open_token(const MemberOptions& member, const Clock& clock);

}  // namespace ratoon::session
