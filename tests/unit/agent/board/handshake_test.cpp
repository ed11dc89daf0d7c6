// The proof that a connection must give before any request, and attempts that prove nothing.
#include "agent/src/board/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::board::handshake_test {
namespace {

using testing::HasSubstr;

const std::string kSecret(64, 's');
const std::string kRankNonce(2 * kNonceBytes, 'r');
const std::string kBoardNonce(2 * kNonceBytes, 'b');
const Opening kNow{.attempt = 7, .world_size = 4, .secret = kSecret};

Hello hello_of(std::uint32_t rank = 2, std::uint64_t attempt = 7) {
  return {.attempt = attempt, .rank = rank, .nonce = kRankNonce};
}

std::uint8_t kind_of(const Handshake::Step& step) {
  return step.answer ? step.answer->kind : 0;
}
std::string why(const Handshake::Step& step) {
  return step.answer && !step.answer->words.empty() ? step.answer->words[0] : "";
}
constexpr auto number = [](Status status) { return static_cast<std::uint8_t>(status); };

// Challenged, as of attempt 7.
Handshake challenged(const Hello& hello = hello_of()) {
  Handshake handshake;
  const auto step = handshake.hear(make_hello(hello), kNow, kBoardNonce);
  EXPECT_EQ(kind_of(step), number(Status::kChallenge));
  EXPECT_EQ(handshake.stage(), Handshake::Stage::kChallenged);
  return handshake;
}

Frame proof(const std::string& words, std::uint64_t attempt = 7) {
  return make_frame(Op::kProve, attempt, {words});
}

TEST(BoardHandshake, EndsWhereBothSidesHaveProvenTheSecret) {
  Handshake handshake;
  const auto challenge = handshake.hear(make_hello(hello_of()), kNow, kBoardNonce);
  ASSERT_TRUE(challenge.answer);
  EXPECT_FALSE(challenge.hangs_up);
  EXPECT_EQ(challenge.answer->words,
            (std::vector{kBoardNonce, proof_of(Side::kBoard, kSecret, hello_of(), kBoardNonce)}));
  const auto taken = handshake.hear(proof(proof_of(Side::kRank, kSecret, hello_of(), kBoardNonce)), kNow, "");
  EXPECT_EQ(kind_of(taken), number(Status::kDone));
  EXPECT_FALSE(taken.hangs_up);
  EXPECT_EQ(handshake.stage(), Handshake::Stage::kProven);
  EXPECT_EQ(handshake.hello().rank, 2u);
}

TEST(BoardHandshake, AProofIsOfOneSideOneRankOneAttemptAndBothNonces) {
  const std::string own = proof_of(Side::kRank, kSecret, hello_of(), kBoardNonce);
  Hello other_nonce = hello_of();
  other_nonce.nonce[0] = 'x';
  for (const std::string& wrong : {
           proof_of(Side::kBoard, kSecret, hello_of(), kBoardNonce),  // what the board itself has just sent
           proof_of(Side::kRank, std::string(64, 't'), hello_of(), kBoardNonce),
           proof_of(Side::kRank, kSecret, hello_of(3), kBoardNonce),
           proof_of(Side::kRank, kSecret, hello_of(2, 8), kBoardNonce),
           proof_of(Side::kRank, kSecret, other_nonce, kBoardNonce),
           proof_of(Side::kRank, kSecret, hello_of(), kRankNonce),  // replayed: the challenge was another
           own.substr(0, 31),
           own + "x",
           std::string(),
       }) {
    Handshake handshake = challenged();
    const auto step = handshake.hear(proof(wrong), kNow, "");
    EXPECT_EQ(kind_of(step), number(Status::kRefused));
    EXPECT_TRUE(step.hangs_up);
    EXPECT_THAT(why(step), HasSubstr("the proof of rank 2 is not made with the secret of attempt 7"));
    EXPECT_NE(handshake.stage(), Handshake::Stage::kProven);
  }
}

TEST(BoardHandshake, NothingElseIsHeardBefore) {
  for (const Frame& frame :
       {make_frame(Op::kSet, 7, {"key", "value"}), make_frame(Op::kProve, 7, {std::string(32, 'p')}),
        make_frame(Op::kHello, 7, {"2"}), make_frame(Op::kHello, 7, {"two", kRankNonce}),
        make_frame(Op::kHello, 7, {"2", "short"}), make_frame(Op::kHello, 7, {"-1", kRankNonce})}) {
    Handshake handshake;
    const auto step = handshake.hear(frame, kNow, kBoardNonce);
    EXPECT_TRUE(step.hangs_up);
    EXPECT_FALSE(step.answer);
  }
  const std::string right = proof_of(Side::kRank, kSecret, hello_of(), kBoardNonce);
  for (const Frame& frame : {make_hello(hello_of()), make_frame(Op::kSet, 7, {"key", right}),
                             make_frame(Op::kProve, 7, {right, right}), proof(right, 8)}) {
    Handshake handshake = challenged();
    EXPECT_TRUE(handshake.hear(frame, kNow, kBoardNonce).hangs_up);
    EXPECT_NE(handshake.stage(), Handshake::Stage::kProven);
  }
}

TEST(BoardHandshake, OneOfAnAttemptThatIsStillToBeginWaitsForIt) {
  Handshake handshake;
  EXPECT_FALSE(handshake.hear(make_hello(hello_of(2, 8)), kNow, kBoardNonce).answer);
  EXPECT_EQ(handshake.stage(), Handshake::Stage::kEarly);
  const Opening next{.attempt = 8, .world_size = 4, .secret = std::string(64, 'n')};
  Handshake talkative = handshake;
  EXPECT_TRUE(talkative.hear(make_hello(hello_of(2, 8)), kNow, kBoardNonce).hangs_up);
  Handshake skipped = handshake;
  EXPECT_EQ(kind_of(handshake.begin(next, kBoardNonce)), number(Status::kChallenge));
  const auto taken =
      handshake.hear(proof(proof_of(Side::kRank, next.secret, hello_of(2, 8), kBoardNonce), 8), next, "");
  EXPECT_EQ(kind_of(taken), number(Status::kDone));
  const Opening later{.attempt = 9, .world_size = 4, .secret = std::string(64, 'l')};
  EXPECT_EQ(kind_of(skipped.begin(later, kBoardNonce)), number(Status::kOver));
}

TEST(BoardHandshake, OneThatIsLateIsTold) {
  Handshake late;
  const auto step = late.hear(make_hello(hello_of(2, 6)), kNow, kBoardNonce);
  EXPECT_EQ(kind_of(step), number(Status::kOver));
  EXPECT_EQ(why(step), "7");
  EXPECT_TRUE(step.hangs_up);

  // Another attempt began between the challenge and the proof: the proof would be for the wrong attempt.
  const Opening next{.attempt = 8, .world_size = 4, .secret = kSecret};
  const std::string right = proof_of(Side::kRank, kSecret, hello_of(), kBoardNonce);
  Handshake told = challenged();
  EXPECT_EQ(kind_of(told.begin(next, kBoardNonce)), number(Status::kOver));
  Handshake asking = challenged();
  EXPECT_EQ(kind_of(asking.hear(proof(right), next, "")), number(Status::kOver));
  EXPECT_NE(asking.stage(), Handshake::Stage::kProven);
}

TEST(BoardHandshake, ARankOutsideTheWorldIsRefused) {
  Handshake handshake;
  const auto step = handshake.hear(make_hello(hello_of(4)), kNow, kBoardNonce);
  EXPECT_EQ(kind_of(step), number(Status::kRefused));
  EXPECT_THAT(why(step), HasSubstr("the run has 4 ranks, but a client claims to be rank 4"));
  EXPECT_TRUE(step.hangs_up);
}

TEST(BoardHandshake, ASecretThatCouldBeGuessedProvesNothing) {
  for (const std::size_t size : {0u, 31u}) {
    Handshake handshake;
    const Opening open{.attempt = 7, .world_size = 4, .secret = std::string(size, 's')};
    const auto step = handshake.hear(make_hello(hello_of()), open, kBoardNonce);
    EXPECT_TRUE(step.hangs_up);
    EXPECT_FALSE(step.answer);
  }
  Handshake handshake;
  EXPECT_TRUE(handshake.hear(make_hello(hello_of()), kNow, "").hangs_up) << "no random numbers";
}

}  // namespace
}  // namespace ratoon::board::handshake_test
