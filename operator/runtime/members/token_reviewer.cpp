#include "operator/runtime/members/token_reviewer.h"

#include <openssl/sha.h>

namespace ratoon::runtime {
namespace {

constexpr Duration kFresh = std::chrono::minutes(1);
// How long a member stays known while the API server is unreachable or slow.
constexpr Duration kKnown = std::chrono::hours(1);
// After a failed review, known tokens are not reviewed again for this long.
constexpr Duration kQuiet = std::chrono::seconds(10);
// The greatest number of tokens that wait in memory for a new review. If the queue is full, a token is added
// with the next message that carries it.
constexpr std::size_t kLineMax = 4096;
constexpr Duration kReviewTimeout = std::chrono::seconds(2);
// Search for expired answers at most this often: each search visits all answers, and heartbeats wait until it
// ends.
constexpr Duration kPurgeEvery = std::chrono::minutes(1);
constexpr std::size_t kAnswersMax = std::size_t{1} << 17;
constexpr std::size_t kTokenBytesMax = 16 * 1024;

bool may_be_token(std::string_view text) {
  return !text.empty() && text.size() <= kTokenBytesMax;
}

// A cryptographic hash, so that no attacker can make two tokens collide; tokens themselves are not kept.
std::string sha256(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

}  // namespace

Result<kube::TokenIdentity> TokenReviewer::review(std::string_view token, const std::stop_token& stop) {
  if (!may_be_token(token)) return Error(ErrorKind::kPermissionDenied, "a token must have 1 to 16384 bytes");
  const std::string key = sha256(token);
  const Timestamp asked = clock_.now();
  const auto known = recall(key, asked);
  if (!known) return ask(key, token, stop);
  if (asked - known->time >= kFresh && asked >= quiet_until_.load()) enqueue(key, token, asked);
  return known->identity;
}

void TokenReviewer::enqueue(const std::string& key, std::string_view token, Timestamp now) {
  const std::lock_guard lock(mutex_);
  const auto known = answers_.find(key);
  if (known == answers_.end() || now - known->second.time < kFresh) return;  // it was reviewed just now
  if (line_.size() >= kLineMax || !queued_.insert(key).second) return;
  line_.push_back({.key = key, .token = std::string(token)});
  wake_.notify_one();
}

bool TokenReviewer::refresh_next(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (line_.empty()) return false;
  const Stale next = std::move(line_.front());
  line_.pop_front();
  lock.unlock();
  // Ignore failures: a failed review says nothing about the member, and its earlier review stays valid for a
  // while.
  if (clock_.now() >= quiet_until_.load()) static_cast<void>(ask(next.key, next.token, stop));
  lock.lock();
  queued_.erase(next.key);
  return true;
}

void TokenReviewer::keep_fresh(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (refresh_next(stop)) continue;
    std::unique_lock lock(mutex_);
    wake_.wait(lock, stop, [this] { return !line_.empty(); });
  }
}

// Lets the API server review a token. Does not wait if the server is overloaded, because the member calls
// again.
Result<kube::TokenIdentity> TokenReviewer::ask(const std::string& key, std::string_view token,
                                               const std::stop_token& stop) {
  const Timestamp asked = clock_.now();
  const auto reply = client_.call_once(
      kube::create({.resource = kube::kTokenReviews}, kube::make_token_review(token)), stop, kReviewTimeout);
  if (!reply) quiet_until_ = clock_.now() + kQuiet;
  if (!reply) return Error(ErrorKind::kUnavailable, "reviewing a token: " + reply.error().message());
  auto identity = kube::read_token_review(*reply);
  if (identity) remember(key, {.identity = *identity, .time = asked});
  if (!identity && identity.error().kind() == ErrorKind::kPermissionDenied) forget_answer(key);
  return identity;
}

bool TokenReviewer::knows(std::string_view token) {
  return may_be_token(token) && recall(sha256(token), clock_.now());
}

std::size_t TokenReviewer::known() const {
  const std::lock_guard lock(mutex_);
  return answers_.size();
}

std::optional<TokenReviewer::Answer> TokenReviewer::recall(const std::string& key, Timestamp now) {
  const std::lock_guard lock(mutex_);
  const auto is_old = [&](const auto& item) { return now - item.second.time > kKnown; };
  if (now - purged_ >= kPurgeEvery) {
    purged_ = now;
    std::erase_if(answers_, is_old);
  }
  const auto found = answers_.find(key);
  return found == answers_.end() || is_old(*found) ? std::nullopt : std::optional(found->second);
}

void TokenReviewer::remember(const std::string& key, Answer answer) {
  const std::lock_guard lock(mutex_);
  // A member can request any number of tokens for its pod; beyond this limit no further answers are kept.
  if (answers_.size() >= kAnswersMax && !answers_.contains(key)) return;
  answers_[key] = std::move(answer);
}

void TokenReviewer::forget(std::string_view token) {
  forget_answer(sha256(token));
}

void TokenReviewer::forget_answer(const std::string& key) {
  const std::lock_guard lock(mutex_);
  answers_.erase(key);
}

}  // namespace ratoon::runtime
