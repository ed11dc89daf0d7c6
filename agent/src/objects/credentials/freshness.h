// When credentials that end are fetched anew. Pure.
#pragma once

#include "agent/src/objects/credentials/credentials.h"

namespace ratoon::objects {

enum class Freshness {
  kGood,
  kAgeing,   // fetch new ones; these are good as long as that fails
  kExpired,  // nobody would accept them
};

// From a quarter of an hour before their end on, or from half of their life on where that is shorter. The
// last ten seconds count as expired: a request takes time, and clocks differ.
[[nodiscard]] Freshness freshness_of(const Credentials& credentials, WallTime fetched_at, WallTime now);

}  // namespace ratoon::objects
