// TokenReviewer finds the pod of a member's token. TokenReviewer keeps the API server's answers for an hour,
// by the token's SHA-256. If an answer is older than a minute, separate threads (keep_fresh) request it
// again; meanwhile it stays valid. Therefore heartbeats wait neither for a slow server nor for reviews of
// other tokens. A refusal is not kept, because the token may be valid once the server has caught up, but it
// removes the earlier answer. Tokens that are not a member's are not kept, so they use no memory here.
// Namespaces take turns in the new reviews, so a namespace with thousands of tokens does not delay others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
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
#include "operator/runtime/members/reviewed_tokens.h"
#include "operator/runtime/scheduling/turn_lines.h"

namespace ratoon::runtime {

class TokenReviewer {
 public:
  // The most tokens that wait for a new review (they are in memory meanwhile). A token that is dropped beyond
  // this limit is added again with the member's next message.
  static constexpr std::size_t kLineMax = 4096;

  TokenReviewer(const ApiClient& client, const Clock& clock) : client_(client), clock_(clock) {}

  // Returns the token's pod. Asks the server only about unknown tokens. Any thread may call this function.
  [[nodiscard]] Result<kube::TokenIdentity> review(std::string_view token, const std::stop_token& stop);

  // Reviews known tokens with old answers again, until `stop` is requested. Call this function in as many
  // threads as may call the server at the same time.
  void keep_fresh(const std::stop_token& stop);
  // Reviews the next token again; returns false if no token waits.
  bool refresh_next(const std::stop_token& stop);

  // Forgets the answer about a token: call this if the token's holder is not the member that it claims to be.
  void forget(std::string_view token);

  // Returns whether the token was accepted within the last hour and not refused since: then review() is fast.
  [[nodiscard]] bool knows(std::string_view token);
  [[nodiscard]] std::size_t known() const;  // number of kept answers

 private:
  struct Stale {
    std::string key;
    std::string token;
  };

  [[nodiscard]] Result<kube::TokenIdentity> ask(const std::string& key, std::string_view token,
                                                const std::stop_token& stop);
  void enqueue(const std::string& key, std::string_view token, Timestamp now);
  [[nodiscard]] std::optional<ReviewedTokens::Answer> recall(const std::string& key, Timestamp now);
  void forget_answer(const std::string& key);

  const ApiClient& client_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  ReviewedTokens answers_;            // guarded by mutex_
  TurnLines<Stale> lines_{kLineMax};  // guarded by mutex_; by namespace, each key once
  std::set<std::string> queued_;      // guarded by mutex_; keys in lines_ and keys under review
  std::condition_variable_any wake_;
  std::atomic<Timestamp> quiet_until_{};
};

}  // namespace ratoon::runtime
