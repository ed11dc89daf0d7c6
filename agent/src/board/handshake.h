// The handshake in which a rank and the board prove to each other that they have the attempt's secret, before
// any other request:
//
//   rank:  kHello      the attempt, its rank, a random nonce
//   board: kChallenge  a random nonce, its proof
//   rank:  kProve      its proof
//   board: kDone
//
// A proof is an HMAC of the side (rank or board), the attempt, the rank and both nonces, with the secret as
// its key. A proof is therefore valid only on its own connection and only for its own side. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/src/board/frame.h"

namespace ratoon::board {

inline constexpr std::size_t kNonceBytes = 16;       // random bytes; twice as many hexadecimal digits
inline constexpr std::size_t kSecretMin = 32;        // shorter secrets are refused
inline constexpr std::size_t kHandshakeFrame = 512;  // the maximum size of a frame, with its head

// The attempt to whose ranks the board's server answers.
struct Opening {
  std::uint64_t attempt = 0;  // 0: no attempt has begun
  std::uint32_t world_size = 0;
  std::string secret;
};

struct Hello {
  std::uint64_t attempt = 0;
  std::uint32_t rank = 0;
  std::string nonce;
};

enum class Side : std::uint8_t { kRank, kBoard };

[[nodiscard]] Frame make_hello(const Hello& hello);
[[nodiscard]] std::optional<Hello> read_hello(const Frame& frame);
[[nodiscard]] std::string proof_of(Side side, const std::string& secret, const Hello& hello,
                                   const std::string& board_nonce);

// The server's side of the handshake on one connection.
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
    bool hangs_up = false;  // after the answer
  };

  // Handles a frame of the client. `nonce` must be a new random value in each call.
  [[nodiscard]] Step hear(const Frame& frame, const Opening& now, const std::string& nonce);
  // The server calls begin() when a new attempt has begun.
  [[nodiscard]] Step begin(const Opening& now, const std::string& nonce);

  [[nodiscard]] Stage stage() const { return stage_; }
  [[nodiscard]] const Hello& hello() const { return hello_; }

 private:
  [[nodiscard]] Step challenge(const Opening& now, const std::string& nonce);
  [[nodiscard]] Step judge(const Frame& frame, const Opening& now);

  Stage stage_ = Stage::kSilent;
  Hello hello_;
  std::string nonce_;
};

}  // namespace ratoon::board
