// TokenReviewer finds the pod of a member's token. TokenReviewer keeps the API server's answers for an hour,
// by the token's SHA-256. If an answer is older than a minute, separate threads (keep_fresh) ask the server
// again. The old answer stays valid meanwhile, so heartbeats do not wait for a slow server or other reviews.
// A refusal removes the earlier answer, but is not kept itself, because the token may become valid when the
// server has caught up. Tokens that belong to no member are not kept, so they use no memory here. Namespaces
// take turns in new reviews, so that a namespace with thousands of tokens delays no other.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"
#include "operator/kube/objects/token_review.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/members/reviewed_tokens.h"
#include "operator/runtime/scheduling/round_robin_queue.h"

namespace ratoon::runtime {

class TokenReviewer {
 public:
  // The greatest number of tokens that wait for a new review (their text is in memory meanwhile). If more
  // tokens wait, TokenReviewer drops waiting tokens, and the next messages of their members add them again.
  static constexpr std::size_t kRefreshQueueMax = 4096;

  TokenReviewer(const ApiClient& client, const Clock& clock) : client_(client), clock_(clock) {}

  // Returns the token's pod. Asks the API server only for unknown tokens. Any thread may call this function.
  [[nodiscard]] Result<kube::TokenIdentity> review(std::string_view token, const std::stop_token& stop);

  // Reviews known tokens again when their answers are old, until `stop` is requested. Call keep_fresh() in as
  // many threads as may call the server at once.
  void keep_fresh(const std::stop_token& stop);
  // Reviews the next token in the queue; returns false if the queue is empty.
  bool refresh_next(const std::stop_token& stop);

  // Forgets the answer about a token; call forget() if the token's holder is not the member it claims to be.
  void forget(std::string_view token);

  // Returns whether the token was accepted in the last hour and not refused since, so that review() is fast.
  [[nodiscard]] bool knows(std::string_view token);
  [[nodiscard]] std::size_t known() const;  // number of kept answers

 private:
  struct StaleToken {
    std::string key;
    std::string token;
  };

  [[nodiscard]] Result<kube::TokenIdentity> ask(const std::string& key, std::string_view token,
                                                const std::stop_token& stop);
  void enqueue(const std::string& key, std::string_view token, Timestamp now);
  [[nodiscard]] std::optional<ReviewedTokens::Answer> find_answer(const std::string& key, Timestamp now);
  void forget_answer(const std::string& key);

  const ApiClient& client_;
  const Clock& clock_;
  mutable Mutex mutex_;
  ReviewedTokens answers_ RATOON_GUARDED_BY(mutex_);
  // By namespace, each key once.
  RoundRobinQueue<StaleToken> refresh_queue_ RATOON_GUARDED_BY(mutex_){kRefreshQueueMax};
  // The keys in refresh_queue_ and the keys under review.
  std::set<std::string> queued_keys_ RATOON_GUARDED_BY(mutex_);
  StoppableConditionVariable wake_;
  std::atomic<Timestamp> paused_until_{};
};

}  // namespace ratoon::runtime
