#include "operator/runtime/token_reviewer.h"

#include <openssl/sha.h>

namespace ratoon::runtime {
namespace {

// A hash that an adversary cannot make two tokens meet in; the tokens themselves are not kept.
std::string sha256(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

}  // namespace

Result<kube::TokenIdentity> TokenReviewer::review(std::string_view token, std::stop_token stop) {
  constexpr Duration kFresh = std::chrono::minutes(1);
  // While the API server is away, members that are known go on to be known.
  constexpr Duration kKnown = std::chrono::minutes(10);
  constexpr std::size_t kTokenBytesMax = 16 * 1024;
  if (token.empty() || token.size() > kTokenBytesMax)
    return Error(ErrorKind::kPermissionDenied, "a token must have 1 to 16384 bytes");
  const std::string key = sha256(token);
  const Timestamp asked = clock_.now();
  std::optional<kube::TokenIdentity> before;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(answers_, [&](const auto& item) { return asked - item.second.time > kKnown; });
    if (const auto known = answers_.find(key); known != answers_.end()) {
      if (asked - known->second.time <= kFresh) return known->second.identity;
      before = known->second.identity;
    }
  }
  const auto reply = client_.call(
      kube::create({.resource = kube::kTokenReviews}, kube::make_token_review(token)), std::move(stop));
  if (!reply && reply.error().is_retryable() && before) return *before;
  if (!reply) return reply.error().with_context("reviewing a token");
  auto identity = kube::read_token_review(*reply);
  if (!identity) return identity;
  const std::lock_guard lock(mutex_);
  answers_[key] = {.identity = *identity, .time = asked};
  return identity;
}

}  // namespace ratoon::runtime
