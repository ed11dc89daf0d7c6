#include "agent/src/board/handshake.h"

#include <utility>

#include "base/core/hmac_sha256.h"

namespace ratoon::board {
namespace {

Frame make_attempt_over_answer(const Hello& hello, const ServedAttempt& now) {
  return make_frame(Status::kOver, hello.attempt, {std::to_string(now.attempt)});
}

Handshake::Step refuse_hello(const Hello& hello, std::string why) {
  return {.answer = make_frame(Status::kRefused, hello.attempt, {std::move(why)}), .closes_connection = true};
}

}  // namespace

Frame make_hello(const Hello& hello) {
  return make_frame(Op::kHello, hello.attempt, {std::to_string(hello.rank), hello.nonce});
}

std::optional<Hello> read_hello(const Frame& frame) {
  if (frame.kind != static_cast<std::uint8_t>(Op::kHello) || frame.words.size() != 2) return std::nullopt;
  const auto rank = parse_number<std::uint32_t>(frame.words[0]);
  if (!rank || frame.words[1].size() != 2 * kNonceBytes) return std::nullopt;
  return Hello{.attempt = frame.attempt, .rank = *rank, .nonce = frame.words[1]};
}

// The HMAC is computed over an encoded frame, so that the hashed bytes include the boundaries between the
// frame's words.
std::string compute_proof(HandshakeSide side, const std::string& secret, const Hello& hello,
                          const std::string& board_nonce) {
  const Frame proven{.kind = static_cast<std::uint8_t>(side),
                     .attempt = hello.attempt,
                     .words = {std::to_string(hello.rank), hello.nonce, board_nonce}};
  return hmac_sha256_of(secret, encode(proven));
}

Handshake::Step Handshake::handle_frame(const Frame& frame, const ServedAttempt& now,
                                        const std::string& nonce) {
  if (stage_ == Stage::kChallenged) return check_proof(frame, now);
  auto hello = read_hello(frame);
  if (stage_ != Stage::kSilent || !hello) return {.closes_connection = true};
  hello_ = *std::move(hello);
  if (hello_.attempt < now.attempt)
    return {.answer = make_attempt_over_answer(hello_, now), .closes_connection = true};
  if (hello_.attempt == now.attempt) return challenge(now, nonce);
  stage_ = Stage::kEarly;
  return {};
}

Handshake::Step Handshake::begin_attempt(const ServedAttempt& now, const std::string& nonce) {
  const bool is_of_another = hello_.attempt != now.attempt;
  if (stage_ == Stage::kSilent || stage_ == Stage::kProven) return {};
  if (stage_ == Stage::kEarly && !is_of_another) return challenge(now, nonce);
  if (hello_.attempt < now.attempt)
    return {.answer = make_attempt_over_answer(hello_, now), .closes_connection = true};
  return {};
}

Handshake::Step Handshake::challenge(const ServedAttempt& now, const std::string& nonce) {
  if (now.secret.size() < kSecretBytesMin || nonce.empty()) return {.closes_connection = true};
  if (hello_.rank >= now.world_size) {
    return refuse_hello(hello_, "the run has " + std::to_string(now.world_size) +
                                    " ranks, but a client claims to be rank " + std::to_string(hello_.rank) +
                                    ": ranks are numbered from 0");
  }
  stage_ = Stage::kChallenged;
  nonce_ = nonce;
  return {.answer = make_frame(Status::kChallenge, hello_.attempt,
                               {nonce_, compute_proof(HandshakeSide::kBoard, now.secret, hello_, nonce_)})};
}

Handshake::Step Handshake::check_proof(const Frame& frame, const ServedAttempt& now) {
  if (hello_.attempt != now.attempt)
    return {.answer = make_attempt_over_answer(hello_, now), .closes_connection = true};
  const bool is_proof = frame.kind == static_cast<std::uint8_t>(Op::kProve) &&
                        frame.attempt == hello_.attempt && frame.words.size() == 1;
  if (!is_proof ||
      !is_same_secret(frame.words[0], compute_proof(HandshakeSide::kRank, now.secret, hello_, nonce_))) {
    return refuse_hello(hello_, "the proof of rank " + std::to_string(hello_.rank) +
                                    " is not made with the secret of attempt " +
                                    std::to_string(hello_.attempt) +
                                    ": only members of the attempt know the secret");
  }
  stage_ = Stage::kProven;
  return {.answer = make_frame(Status::kDone, hello_.attempt, {})};
}

}  // namespace ratoon::board
