// CredentialCache: holds the credentials for the next request, and refreshes them in time. One thread fetches
// new credentials before the old credentials expire; until then the other threads use the old credentials. If
// fetching new credentials fails, the old ones are used until they expire.
//
// Thread contract: any thread may call any function.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credential_source.h"
#include "base/core/clock.h"
#include "base/core/threads/mutex.h"

namespace ratoon::objects {

class CredentialCache {
 public:
  CredentialCache(std::unique_ptr<CredentialSource> source, std::shared_ptr<const Clock> clock)
      : source_(std::move(source)), clock_(std::move(clock)) {}

  [[nodiscard]] Result<Credentials> current(const std::stop_token& stop);

  // Reports that a server has rejected `credentials` as expired: the next call of current() asks the source
  // again, unless other credentials have replaced these since.
  void report_rejected(const Credentials& credentials);

 private:
  [[nodiscard]] std::optional<Credentials> cached_if_fresh();
  [[nodiscard]] Result<Credentials> fetch(const std::stop_token& stop) RATOON_REQUIRES(fetch_mutex_);

  const std::unique_ptr<CredentialSource> source_ RATOON_POINTEE_GUARDED_BY(fetch_mutex_);
  const std::shared_ptr<const Clock> clock_;
  Mutex fetch_mutex_;

  Mutex mutex_;
  std::optional<Credentials> cached_ RATOON_GUARDED_BY(mutex_);
  WallTime fetched_at_ RATOON_GUARDED_BY(mutex_);
  Timestamp next_refresh_ RATOON_GUARDED_BY(mutex_) = {};  // to replace credentials that are still valid
};

}  // namespace ratoon::objects
