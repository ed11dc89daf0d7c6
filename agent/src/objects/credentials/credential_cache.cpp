#include "agent/src/objects/credentials/credential_cache.h"

#include "agent/src/objects/credentials/freshness.h"

namespace ratoon::objects {
namespace {

// The pause between two attempts to refresh credentials that are still valid. Without a pause, every request
// would cause a request to the server of credentials.
constexpr Duration kTryAgainAfter = std::chrono::seconds(60);

}  // namespace

std::optional<Credentials> CredentialCache::held_if_good() {
  const std::lock_guard lock(mutex_);
  if (!held_) return std::nullopt;
  const Freshness freshness = freshness_of(*held_, fetched_at_, clock_->wall_now());
  if (freshness == Freshness::kExpired) return std::nullopt;
  if (freshness == Freshness::kAgeing && clock_->now() >= next_try_) return std::nullopt;
  return held_;
}

Result<Credentials> CredentialCache::current(const std::stop_token& stop) {
  if (auto good = held_if_good()) return *std::move(good);
  std::unique_lock fetching(fetching_, std::try_to_lock);
  if (!fetching.owns_lock()) {
    {
      // Another thread refreshes the credentials. Use the cached credentials while they are valid.
      const std::lock_guard lock(mutex_);
      if (held_ && freshness_of(*held_, fetched_at_, clock_->wall_now()) != Freshness::kExpired)
        return *held_;
    }
    fetching.lock();
  }
  if (auto good = held_if_good()) return *std::move(good);
  return fetch(stop);
}

Result<Credentials> CredentialCache::fetch(const std::stop_token& stop) {
  auto found = source_->fetch(stop);
  const std::lock_guard lock(mutex_);
  const WallTime now = clock_->wall_now();
  if (found && *found && freshness_of(**found, now, now) != Freshness::kExpired) {
    held_ = **found;
    fetched_at_ = now;
    next_try_ = clock_->now() + kTryAgainAfter;
    return *held_;
  }
  if (held_ && freshness_of(*held_, fetched_at_, now) != Freshness::kExpired) {
    next_try_ = clock_->now() + kTryAgainAfter;
    return *held_;
  }
  const auto ended = [](const Credentials& credentials) {
    return "the credentials from " + credentials.source + " expired at " +
           format_rfc3339(*credentials.expires_at);
  };
  if (!found) {
    if (!held_) return found.error();
    return found.error().with_context(ended(*held_) + ", and new ones could not be fetched");
  }
  if (*found)
    return Error(ErrorKind::kPermissionDenied, ended(**found) + "; it is " + format_rfc3339(now) +
                                                   ": renew them there, and check this machine's clock");
  return Error(ErrorKind::kPermissionDenied,
               "there are no credentials: " + source_->why_not() +
                   "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile; a program that reads a "
                   "public bucket can set StoreOptions::is_anonymous");
}

bool CredentialCache::doubt(const Credentials& credentials) {
  const std::lock_guard lock(mutex_);
  if (doubted_ == credentials) return false;
  doubted_ = credentials;
  if (held_ == credentials) held_.reset();
  return true;
}

}  // namespace ratoon::objects
