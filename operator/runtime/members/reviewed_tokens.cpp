#include "operator/runtime/members/reviewed_tokens.h"

#include <utility>

namespace ratoon::runtime {
namespace {

// Search for expired answers rarely: a search visits all answers, and heartbeats wait until it ends.
constexpr Duration kPurgeEvery = std::chrono::minutes(1);

}  // namespace

std::optional<ReviewedTokens::Answer> ReviewedTokens::find(const std::string& key, Timestamp now) {
  if (now - last_purge_at_ >= kPurgeEvery) forget_old(now);
  const auto found = answers_.find(key);
  return found == answers_.end() || is_old(found->second, now) ? std::nullopt : std::optional(found->second);
}

void ReviewedTokens::forget_old(Timestamp now) {
  last_purge_at_ = now;
  std::erase_if(answers_, [now](const auto& item) { return is_old(item.second, now); });
  for (auto& [pod, keys] : keys_by_pod_)
    std::erase_if(keys, [this](const std::string& key) { return !answers_.contains(key); });
  std::erase_if(keys_by_pod_, [](const auto& item) { return item.second.empty(); });
}

void ReviewedTokens::keep(const std::string& key, Answer answer) {
  if (answers_.contains(key)) {
    answers_[key] = std::move(answer);
    return;
  }
  auto& keys = keys_by_pod_[answer.identity.pod_uid];
  if (keys.size() >= kAnswersPerPodMax) {
    answers_.erase(keys.front());
    keys.pop_front();
  }
  if (answers_.size() >= kAnswersMax) {
    if (keys.empty()) keys_by_pod_.erase(answer.identity.pod_uid);
    return;
  }
  keys.push_back(key);
  answers_.emplace(key, std::move(answer));
}

void ReviewedTokens::forget(const std::string& key) {
  const auto found = answers_.find(key);
  if (found == answers_.end()) return;
  const auto keys = keys_by_pod_.find(found->second.identity.pod_uid);
  if (keys != keys_by_pod_.end()) {
    std::erase(keys->second, key);
    if (keys->second.empty()) keys_by_pod_.erase(keys);
  }
  answers_.erase(found);
}

}  // namespace ratoon::runtime
