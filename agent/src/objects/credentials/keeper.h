// CredentialKeeper: the credentials for the next request. New ones are fetched before the old ones end, by
// one thread while the others go on with the old ones; where that fails, the old ones are good to their end.
//
// Thread contract: any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/source.h"
#include "base/core/clock.h"

namespace ratoon::objects {

class CredentialKeeper {
 public:
  CredentialKeeper(std::unique_ptr<CredentialSource> source, std::shared_ptr<const Clock> clock)
      : source_(std::move(source)), clock_(std::move(clock)) {}

  [[nodiscard]] Result<Credentials> current(const std::stop_token& stop);

  // The other side says that these have ended. Whether it is worth asking again with what current() gives
  // next: not where the same ones came back.
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
  Timestamp next_try_{};                // of old ones that are still good; guarded by mutex_
};

}  // namespace ratoon::objects
