#include "agent/src/objects/credentials/freshness.h"

#include <algorithm>

namespace ratoon::objects {
namespace {

constexpr Duration kRefreshBeforeExpiry = std::chrono::minutes(15);
constexpr Duration kExpiryMargin = std::chrono::seconds(10);

}  // namespace

Freshness freshness_of(const Credentials& credentials, WallTime fetched_at, WallTime now) {
  if (!credentials.expires_at) return Freshness::kGood;
  const Duration left = credentials.expires_at->since_epoch - now.since_epoch;
  if (left <= kExpiryMargin) return Freshness::kExpired;
  const Duration life = credentials.expires_at->since_epoch - fetched_at.since_epoch;
  return left <= std::min(kRefreshBeforeExpiry, life / 2) ? Freshness::kAgeing : Freshness::kGood;
}

}  // namespace ratoon::objects
