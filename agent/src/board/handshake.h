// How a rank and the board prove to each other that they have the attempt's secret, before anything else is
// asked:
//
//   rank:  kHello      the attempt, its rank, a nonce that it has drawn
//   board: kChallenge  a nonce that it has drawn, its proof
//   rank:  kProve      its proof
//   board: kDone
//
// A proof is the HMAC, by the secret, of who proves, the attempt, the rank and both nonces: what was heard on
// another connection proves nothing here, and one side's proof is not the other's. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/src/board/frame.h"

namespace ratoon::board {

inline constexpr std::size_t kNonceBytes = 16;       // drawn; twice as many digits
inline constexpr std::size_t kSecretMin = 32;        // a shorter one proves nothing
inline constexpr std::size_t kHandshakeFrame = 512;  // at most, with its head

// An attempt as rank 0 keeps the board for it.
struct Opening {
  std::uint64_t attempt = 0;  // 0: none has begun
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

// The board's side, of one connection.
class Handshake {
 public:
  enum class Stage : std::uint8_t {
    kSilent,      // nothing was said yet
    kEarly,       // it is of an attempt that is still to begin
    kChallenged,  // the proof is awaited
    kProven,
  };
  struct Step {
    std::optional<Frame> answer{};
    bool hangs_up = false;  // after the answer
  };

  // `nonce` is drawn for this call.
  [[nodiscard]] Step hear(const Frame& frame, const Opening& now, const std::string& nonce);
  // Another attempt has begun.
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
