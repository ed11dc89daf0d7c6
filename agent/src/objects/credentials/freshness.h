// Decides when credentials that expire are fetched again. Pure.
#pragma once

#include "agent/src/objects/credentials/credentials.h"

namespace ratoon::objects {

enum class Freshness {
  kGood,
  kAgeing,   // fetch new ones; use these until that succeeds
  kExpired,  // a server would reject them
};

// Credentials are due for a refresh 15 minutes before expiry, or at half of their lifetime if that is later.
// In the last ten seconds credentials count as expired: a request takes time, and clocks differ.
[[nodiscard]] Freshness freshness_of(const Credentials& credentials, WallTime fetched_at, WallTime now);

}  // namespace ratoon::objects
