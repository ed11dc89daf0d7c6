// TokenReviewer tells whose token a member shows. Answers are kept for an hour by the token's SHA-256. One
// that is older than a minute is asked for again by threads of its own (keep_fresh), and counts meanwhile:
// beats of members wait neither for a server that is slow nor for each other's reviews. Refusals are not
// kept, since a token that is refused now may be good once the server has caught up, but what was known of it
// before is forgotten. So is a token of somebody who is no member: strangers fill no memory here.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
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

  // Safe to call from several threads. Asks the server about a token that is not known, and no other.
  [[nodiscard]] Result<kube::TokenIdentity> review(std::string_view token, const std::stop_token& stop);

  // Asks again about known tokens whose answers have become old, until it is told to stop. For as many
  // threads as are to ask at once.
  void keep_fresh(const std::stop_token& stop);
  // The same for the one that has waited longest; false: none does.
  bool refresh_next(const std::stop_token& stop);

  // Of who is not the one that it says it is.
  void forget(std::string_view token);

  // Whether it was let in within the hour and not refused since: its review does not wait.
  [[nodiscard]] bool knows(std::string_view token);
  [[nodiscard]] std::size_t known() const;  // so many answers are kept

 private:
  struct Answer {
    kube::TokenIdentity identity;
    Timestamp time;
  };

  struct Stale {
    std::string key;
    std::string token;
  };

  [[nodiscard]] Result<kube::TokenIdentity> ask(const std::string& key, std::string_view token,
                                                const std::stop_token& stop);
  void line_up(const std::string& key, std::string_view token, Timestamp now);
  [[nodiscard]] std::optional<Answer> recall(const std::string& key, Timestamp now);
  void remember(const std::string& key, Answer answer);
  void forget_answer(const std::string& key);

  const ApiClient& client_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;  // guarded by mutex_
  Timestamp purged_{};                     // guarded by mutex_
  std::deque<Stale> line_;                 // guarded by mutex_; each key once
  std::set<std::string> in_line_;  // guarded by mutex_; the keys, and those that are being asked about
  std::condition_variable_any wake_;
  std::atomic<Timestamp> quiet_until_{};
};

}  // namespace ratoon::runtime
