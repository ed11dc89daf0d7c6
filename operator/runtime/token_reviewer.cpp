#include "operator/runtime/token_reviewer.h"

#include <openssl/sha.h>

namespace ratoon::runtime {
namespace {

constexpr Duration kFresh = std::chrono::minutes(1);
// While the API server is away, members that are known go on to be known.
constexpr Duration kKnown = std::chrono::hours(1);
// And after one failure nobody who is known is asked about: the door has few threads, and beats must be
// heard.
constexpr Duration kQuiet = std::chrono::seconds(10);
constexpr Duration kPatience = std::chrono::seconds(2);

// A hash that an adversary cannot make two tokens meet in; the tokens themselves are not kept.
std::string sha256(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

}  // namespace

Result<kube::TokenIdentity> TokenReviewer::review(std::string_view token, std::stop_token stop) {
  constexpr std::size_t kTokenBytesMax = 16 * 1024;
  if (token.empty() || token.size() > kTokenBytesMax)
    return Error(ErrorKind::kPermissionDenied, "a token must have 1 to 16384 bytes");
  const std::string key = sha256(token);
  const Timestamp asked = clock_.now();
  const auto known = recall(key, asked);
  if (known && (asked - known->time < kFresh || asked < quiet_until_.load())) return known->identity;
  const auto reply =
      client_.call(kube::create({.resource = kube::kTokenReviews}, kube::make_token_review(token)),
                   std::move(stop), kPatience);
  // That we cannot ask is no word about the member: who is known goes on to be known for a while.
  if (!reply) quiet_until_ = clock_.now() + kQuiet;
  if (!reply && known) return known->identity;
  if (!reply) return Error(ErrorKind::kUnavailable, "reviewing a token: " + reply.error().message());
  auto identity = kube::read_token_review(*reply);
  if (identity) remember(key, {.identity = *identity, .time = asked});
  return identity;
}

std::optional<TokenReviewer::Answer> TokenReviewer::recall(const std::string& key, Timestamp now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(answers_, [&](const auto& item) { return now - item.second.time > kKnown; });
  const auto found = answers_.find(key);
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

void TokenReviewer::remember(const std::string& key, Answer answer) {
  const std::lock_guard lock(mutex_);
  answers_[key] = std::move(answer);
}

}  // namespace ratoon::runtime
