// The token by which a coordinator recognizes this process.
#pragma once

#include <memory>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/token_file.h"

namespace ratoon::session {

// kInvalid if the file is missing or empty; if the file exists but cannot be read now, the kind of the read
// error. `clock` must outlive the result.
[[nodiscard]] Result<std::unique_ptr<TokenFile>> open_token(const MemberOptions& member, const Clock& clock);

}  // namespace ratoon::session
