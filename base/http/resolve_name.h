// Looks up the addresses of a server with the system's resolver.
#pragma once

#include "base/http/client/connect.h"

namespace ratoon::http {

// Calls `resolved` from another thread, even after the caller has given up: the system's resolver cannot be
// interrupted.
void resolve_name(const Url& url, ResolvedName resolved);

}  // namespace ratoon::http
