// The token by which a coordinator knows this process.
#pragma once

#include <memory>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/token_file.h"

namespace ratoon::session {

// kInvalid where the file is missing or empty; where it cannot be read now, the kind of that error. The clock
// outlives it.
[[nodiscard]] Result<std::unique_ptr<TokenFile>> open_token(const MemberOptions& member, const Clock& clock);

}  // namespace ratoon::session
