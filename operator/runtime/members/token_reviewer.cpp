#include "operator/runtime/members/token_reviewer.h"

#include <openssl/sha.h>

namespace ratoon::runtime {
namespace {

constexpr Duration kRefreshAfter = std::chrono::minutes(1);
// After a failed review, TokenReviewer does not review known tokens again for this long.
constexpr Duration kPauseAfterFailure = std::chrono::seconds(10);
constexpr Duration kReviewTimeout = std::chrono::seconds(2);
constexpr std::size_t kTokenBytesMax = 16 * 1024;

bool may_be_token(std::string_view text) {
  return !text.empty() && text.size() <= kTokenBytesMax;
}

// TokenReviewer stores each answer by this hash of the token, and not by the token itself. The hash is
// cryptographic, so that no attacker can make two tokens collide.
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
  const auto known = find_answer(key, asked);
  if (!known) return ask(key, token, stop);
  if (asked - known->time >= kRefreshAfter && asked >= paused_until_.load()) enqueue(key, token, asked);
  return known->identity;
}

void TokenReviewer::enqueue(const std::string& key, std::string_view token, Timestamp now) {
  const MutexLock lock(mutex_);
  const auto known = answers_.find(key, now);
  if (!known || now - known->time < kRefreshAfter) return;  // it was reviewed just now
  if (!queued_keys_.insert(key).second) return;
  const auto lost =
      refresh_queue_.push(known->identity.name_space, {.key = key, .token = std::string(token)});
  if (lost) queued_keys_.erase(lost->key);
  wake_.notify_one();
}

bool TokenReviewer::refresh_next(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  const auto next = refresh_queue_.take();
  if (!next) return false;
  lock.unlock();
  // Ignore failed calls: they say nothing about the member, whose last answer stays valid for a while.
  if (clock_.now() >= paused_until_.load()) static_cast<void>(ask(next->key, next->token, stop));
  lock.lock();
  queued_keys_.erase(next->key);
  return true;
}

void TokenReviewer::keep_fresh(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (refresh_next(stop)) continue;
    MutexLock lock(mutex_);
    wake_.wait(lock, stop, [this]() RATOON_REQUIRES(mutex_) { return !refresh_queue_.is_empty(); });
  }
}

// Lets the API server review a token. If the server is overloaded, returns an error and does not wait,
// because the member calls again later.
Result<kube::TokenIdentity> TokenReviewer::ask(const std::string& key, std::string_view token,
                                               const std::stop_token& stop) {
  const Timestamp asked = clock_.now();
  const auto reply = client_.call(
      kube::create({.resource = kube::kTokenReviews}, kube::make_token_review(token)), stop, kReviewTimeout);
  if (!reply) paused_until_ = clock_.now() + kPauseAfterFailure;
  if (!reply) return Error(ErrorKind::kUnavailable, "reviewing a token: " + reply.error().message());
  auto identity = kube::read_token_review(*reply);
  if (identity) {
    const MutexLock lock(mutex_);
    answers_.keep(key, {.identity = *identity, .time = asked});
  }
  if (!identity && identity.error().kind() == ErrorKind::kPermissionDenied) forget_answer(key);
  return identity;
}

bool TokenReviewer::knows(std::string_view token) {
  return may_be_token(token) && find_answer(sha256(token), clock_.now());
}

std::size_t TokenReviewer::known() const {
  const MutexLock lock(mutex_);
  return answers_.size();
}

std::optional<ReviewedTokens::Answer> TokenReviewer::find_answer(const std::string& key, Timestamp now) {
  const MutexLock lock(mutex_);
  return answers_.find(key, now);
}

void TokenReviewer::forget(std::string_view token) {
  forget_answer(sha256(token));
}

void TokenReviewer::forget_answer(const std::string& key) {
  const MutexLock lock(mutex_);
  answers_.forget(key);
}

}  // namespace ratoon::runtime
