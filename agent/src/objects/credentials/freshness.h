// Decides when credentials with an expiry time are fetched again. Pure.
#pragma once

#include "agent/src/objects/credentials/credentials.h"

namespace ratoon::objects {

enum class Freshness {
  kGood,
  kAgeing,   // fetch new ones; use these until that succeeds
  kExpired,  // a server would reject them
};

// Credentials are refreshed 15 minutes before they expire or at half of their lifetime, whichever is
// later. They count as expired ten seconds before their expiry, because a request takes time and clocks
// differ.
[[nodiscard]] Freshness freshness_of(const Credentials& credentials, WallTime fetched_at, WallTime now);

}  // namespace ratoon::objects
