// TokenReviewer tells whose token a member shows. Answers are kept for a minute by the token's SHA-256,
// and for an hour while the server cannot be asked; refusals are not kept, since a token that is refused now
// may be good once the server has caught up, but what was known of it before is forgotten. So is a token of
// somebody who is no member: strangers fill no memory here.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/kube/token_review.h"
#include "operator/runtime/api_client.h"

namespace ratoon::runtime {

class TokenReviewer {
 public:
  TokenReviewer(const ApiClient& client, const Clock& clock) : client_(client), clock_(clock) {}

  // Safe to call from several threads.
  [[nodiscard]] Result<kube::TokenIdentity> review(std::string_view token, std::stop_token stop);

  // Of who is not the one that it says it is.
  void forget(std::string_view token);

  // Whether it was let in within the hour and not refused since: its review does not wait for long.
  [[nodiscard]] bool knows(std::string_view token);
  [[nodiscard]] std::size_t known() const;  // so many answers are kept

 private:
  struct Answer {
    kube::TokenIdentity identity;
    Timestamp time;
  };

  [[nodiscard]] std::optional<Answer> recall(const std::string& key, Timestamp now);
  void remember(const std::string& key, Answer answer);
  void forget_answer(const std::string& key);

  const ApiClient& client_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;  // guarded by mutex_
  Timestamp purged_{};                     // guarded by mutex_
  std::atomic<Timestamp> quiet_until_{};
};

}  // namespace ratoon::runtime
