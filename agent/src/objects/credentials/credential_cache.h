// CredentialCache holds the credentials for the next request. One thread fetches new credentials before the
// old credentials expire; until then the other threads use the old credentials. If fetching fails, the old
// credentials are used until they expire.
//
// Thread contract: any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credential_source.h"
#include "base/core/clock.h"

namespace ratoon::objects {

class CredentialCache {
 public:
  CredentialCache(std::unique_ptr<CredentialSource> source, std::shared_ptr<const Clock> clock)
      : source_(std::move(source)), clock_(std::move(clock)) {}

  [[nodiscard]] Result<Credentials> current(const std::stop_token& stop);

  // Reports that a server called `credentials` expired. Returns whether to retry with the result of
  // current(): false if the server rejected the same credentials before.
  [[nodiscard]] bool doubt(const Credentials& credentials);

 private:
  [[nodiscard]] std::optional<Credentials> held_if_good();
  [[nodiscard]] Result<Credentials> fetch(const std::stop_token& stop);

  const std::unique_ptr<CredentialSource> source_;  // used with fetching_ held
  const std::shared_ptr<const Clock> clock_;
  std::mutex fetching_;

  std::mutex mutex_;
  std::optional<Credentials> held_;     // guarded by mutex_
  std::optional<Credentials> doubted_;  // guarded by mutex_
  WallTime fetched_at_;                 // guarded by mutex_
  Timestamp next_try_{};                // to replace credentials that are still valid; guarded by mutex_
};

}  // namespace ratoon::objects
