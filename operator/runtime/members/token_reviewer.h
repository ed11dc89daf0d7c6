// TokenReviewer finds the pod of a member's token. Answers are kept for an hour by the token's SHA-256. An
// answer that is older than a minute is requested again by separate threads (keep_fresh), and is valid in the
// meantime. Beats of members therefore wait neither for a slow server nor for each other's reviews. Refusals
// are not kept, since a refused token may be good once the server has caught up, but the earlier answer is
// forgotten. A token that is not a member's is not kept either, so unknown tokens use no memory here.
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
#include "operator/kube/objects/token_review.h"
#include "operator/runtime/api_server/api_client.h"

namespace ratoon::runtime {

class TokenReviewer {
 public:
  TokenReviewer(const ApiClient& client, const Clock& clock) : client_(client), clock_(clock) {}

  // Safe to call from several threads. Asks the server only about unknown tokens.
  [[nodiscard]] Result<kube::TokenIdentity> review(std::string_view token, const std::stop_token& stop);

  // Asks again about known tokens with old answers, until `stop` is requested. As many threads call this
  // function as should ask the server at once.
  void keep_fresh(const std::stop_token& stop);
  // Does the same for the token that has waited longest; returns false if no token waits.
  bool refresh_next(const std::stop_token& stop);

  // Call this for a bearer that is not the member that it claims to be.
  void forget(std::string_view token);

  // Whether the token was accepted within the hour and not refused since: its review does not block.
  [[nodiscard]] bool knows(std::string_view token);
  [[nodiscard]] std::size_t known() const;  // number of kept answers

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
  void enqueue(const std::string& key, std::string_view token, Timestamp now);
  [[nodiscard]] std::optional<Answer> recall(const std::string& key, Timestamp now);
  void remember(const std::string& key, Answer answer);
  void forget_answer(const std::string& key);

  const ApiClient& client_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;  // guarded by mutex_
  Timestamp purged_{};                     // guarded by mutex_
  std::deque<Stale> line_;                 // guarded by mutex_; each key once
  std::set<std::string> queued_;           // guarded by mutex_; keys in line_ and keys under review
  std::condition_variable_any wake_;
  std::atomic<Timestamp> quiet_until_{};
};

}  // namespace ratoon::runtime
