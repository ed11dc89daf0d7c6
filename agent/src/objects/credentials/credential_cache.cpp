#include "agent/src/objects/credentials/credential_cache.h"

#include "agent/src/objects/credentials/freshness.h"

namespace ratoon::objects {
namespace {

// The pause between two attempts to refresh credentials that are still valid. Without this pause, each
// request to the store would cause a request to the source of the credentials.
constexpr Duration kRefreshRetryPause = std::chrono::seconds(60);

// Unlocks at the end of the block a mutex that the block has locked with try_lock() or lock().
class RATOON_THREAD_SAFETY(scoped_lockable) UnlockAtEnd {
 public:
  explicit UnlockAtEnd(Mutex& mutex) RATOON_REQUIRES(mutex) : mutex_(mutex) {}
  ~UnlockAtEnd() RATOON_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }
  UnlockAtEnd(const UnlockAtEnd&) = delete;
  UnlockAtEnd& operator=(const UnlockAtEnd&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace

std::optional<Credentials> CredentialCache::cached_if_fresh() {
  const MutexLock lock(mutex_);
  if (!cached_) return std::nullopt;
  const Freshness freshness = freshness_of(*cached_, fetched_at_, clock_->wall_now());
  if (freshness == Freshness::kExpired) return std::nullopt;
  if (freshness == Freshness::kAgeing && clock_->now() >= next_refresh_) return std::nullopt;
  return cached_;
}

Result<Credentials> CredentialCache::current(const std::stop_token& stop) {
  if (auto good = cached_if_fresh()) return *std::move(good);
  if (!fetch_mutex_.try_lock()) {
    {
      // Another thread refreshes the credentials. Use the cached credentials while they are valid.
      const MutexLock lock(mutex_);
      if (cached_ && freshness_of(*cached_, fetched_at_, clock_->wall_now()) != Freshness::kExpired)
        return *cached_;
    }
    fetch_mutex_.lock();
  }
  const UnlockAtEnd unlock(fetch_mutex_);
  if (auto good = cached_if_fresh()) return *std::move(good);
  return fetch(stop);
}

Result<Credentials> CredentialCache::fetch(const std::stop_token& stop) {
  auto found = source_->fetch(stop);
  const MutexLock lock(mutex_);
  const WallTime now = clock_->wall_now();
  if (found && *found && freshness_of(**found, now, now) != Freshness::kExpired) {
    cached_ = **found;
    fetched_at_ = now;
    next_refresh_ = clock_->now() + kRefreshRetryPause;
    return *cached_;
  }
  if (cached_ && freshness_of(*cached_, fetched_at_, now) != Freshness::kExpired) {
    next_refresh_ = clock_->now() + kRefreshRetryPause;
    return *cached_;
  }
  const auto ended = [](const Credentials& credentials) {
    return "the credentials from " + credentials.source + " expired at " +
           format_rfc3339(*credentials.expires_at);
  };
  if (!found) {
    if (!cached_) return found.error();
    return found.error().with_context(ended(*cached_) + ", and new ones could not be fetched");
  }
  if (*found)
    return Error(ErrorKind::kPermissionDenied, ended(**found) + "; the time is now " + format_rfc3339(now) +
                                                   ": renew the credentials, and check this machine's clock");
  return Error(ErrorKind::kPermissionDenied,
               "there are no credentials: " + source_->missing_reason() +
                   "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile");
}

void CredentialCache::report_rejected(const Credentials& credentials) {
  const MutexLock lock(mutex_);
  if (cached_ == credentials) cached_.reset();
}

}  // namespace ratoon::objects
