// TokenReviewer finds the pod of a member's token. TokenReviewer keeps the API server's answers for an hour,
// by the token's SHA-256. If an answer is older than a minute, separate threads (keep_fresh) request it
// again; until then the old answer stays valid. For this reason, members' heartbeats wait neither for a slow
// server nor for the reviews of other members' tokens. A refusal is not kept, because the token may be valid
// once the server has caught up, but it removes the earlier answer. Tokens that are not a member's are not
// kept, so they use no memory here.
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

  // Returns the token's pod. Asks the server only about unknown tokens. Any thread may call this function.
  [[nodiscard]] Result<kube::TokenIdentity> review(std::string_view token, const std::stop_token& stop);

  // Reviews known tokens with old answers again, until `stop` is requested. Call this function in as many
  // threads as may call the server at the same time.
  void keep_fresh(const std::stop_token& stop);
  // Reviews again the token that has waited longest; returns false if no token waits.
  bool refresh_next(const std::stop_token& stop);

  // Forgets the answer about a token: call this if the token's holder is not the member that it claims to be.
  void forget(std::string_view token);

  // Returns whether the token was accepted within the last hour and not refused since: then review() is fast.
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
