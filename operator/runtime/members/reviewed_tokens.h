// ReviewedTokens: the API server's answers about members' tokens, by a hash of the token. A pod may show any
// number of valid tokens. Only the newest few answers for each pod are kept, so that no pod uses up the
// memory for other pods. Answers that are older than kAnswerLifetime are forgotten. ReviewedTokens has no
// clock: callers pass the time. Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "operator/kube/objects/token_review.h"

namespace ratoon::runtime {

class ReviewedTokens {
 public:
  static constexpr std::size_t kAnswersMax = std::size_t{1} << 17;
  // A pod may show several tokens: kubelet renews its token, and its processes read it at different times.
  static constexpr std::size_t kAnswersPerPodMax = 8;
  // How long a member stays known while the API server is unreachable or slow.
  static constexpr Duration kAnswerLifetime = std::chrono::hours(1);

  struct Answer {
    kube::TokenIdentity identity;
    Timestamp time;  // when the server was asked
  };

  [[nodiscard]] std::optional<Answer> find(const std::string& key, Timestamp now);
  void keep(const std::string& key, Answer answer);
  void forget(const std::string& key);
  [[nodiscard]] std::size_t size() const { return answers_.size(); }

 private:
  [[nodiscard]] static bool is_old(const Answer& answer, Timestamp now) {
    return now - answer.time > kAnswerLifetime;
  }
  void forget_old(Timestamp now);

  std::map<std::string, Answer> answers_;
  std::map<std::string, std::deque<std::string>> keys_by_pod_;  // by the pod's UID, oldest first
  Timestamp last_purge_at_{};
};

}  // namespace ratoon::runtime
