// Makes TCP connections within a deadline. A stop request ends the attempt at once.
#pragma once

#include <stop_token>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "base/http/url.h"

namespace ratoon::http {

// Returns a non-blocking socket that is connected to one of the addresses of `url.host`. If `within` is zero,
// the time has no limit.
[[nodiscard]] Result<UniqueFd> connect_to(const Url& url, Duration within, const std::stop_token& stop);

}  // namespace ratoon::http
