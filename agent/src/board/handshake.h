// Before any other request, a rank and the board prove to each other that they have the attempt's secret, in
// this handshake:
//
//   rank:  kHello      the attempt, its rank, a random nonce
//   board: kChallenge  a random nonce, its proof
//   rank:  kProve      its proof
//   board: kDone
//
// A proof is an HMAC of the side (rank or board), the attempt, the rank and both nonces, with the secret as
// its key. Each proof is valid on only one connection, and for only one side. The functions of this header do
// no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/src/board/frame.h"

namespace ratoon::board {

inline constexpr std::size_t kNonceBytes = 16;               // random bytes; twice as many hexadecimal digits
inline constexpr std::size_t kSecretBytesMin = 32;           // shorter secrets are refused
inline constexpr std::size_t kHandshakeFrameBytesMax = 512;  // the maximum size of a frame, with its head

// ServedAttempt: the attempt whose ranks the board's server accepts.
struct ServedAttempt {
  std::uint64_t attempt = 0;  // 0: no attempt has begun
  std::uint32_t world_size = 0;
  std::string secret;
};

struct Hello {
  std::uint64_t attempt = 0;
  std::uint32_t rank = 0;
  std::string nonce;
};

enum class HandshakeSide : std::uint8_t { kRank, kBoard };

[[nodiscard]] Frame make_hello(const Hello& hello);
[[nodiscard]] std::optional<Hello> read_hello(const Frame& frame);
[[nodiscard]] std::string compute_proof(HandshakeSide side, const std::string& secret, const Hello& hello,
                                        const std::string& board_nonce);

// Handshake implements the server's side of the handshake on one connection.
class Handshake {
 public:
  enum class Stage : std::uint8_t {
    kSilent,      // no frame was received
    kEarly,       // the client belongs to an attempt that has not begun
    kChallenged,  // the board waits for the proof
    kProven,
  };
  struct Step {
    std::optional<Frame> answer{};
    bool closes_connection = false;  // after the answer
  };

  // Handles a frame of the client. `nonce` must be a new random value in each call.
  [[nodiscard]] Step handle_frame(const Frame& frame, const ServedAttempt& now, const std::string& nonce);
  // Challenges a client that waits for the attempt `now`, and refuses an unproven client of an older attempt.
  [[nodiscard]] Step begin_attempt(const ServedAttempt& now, const std::string& nonce);

  [[nodiscard]] Stage stage() const { return stage_; }
  [[nodiscard]] const Hello& hello() const { return hello_; }

 private:
  [[nodiscard]] Step challenge(const ServedAttempt& now, const std::string& nonce);
  [[nodiscard]] Step check_proof(const Frame& frame, const ServedAttempt& now);

  Stage stage_ = Stage::kSilent;
  Hello hello_;
  std::string nonce_;
};

}  // namespace ratoon::board
