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
const ServedAttempt kNow{.attempt = 7, .world_size = 4, .secret = kSecret};

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
  const auto step = handshake.handle_frame(make_hello(hello), kNow, kBoardNonce);
  EXPECT_EQ(kind_of(step), number(Status::kChallenge));
  EXPECT_EQ(handshake.stage(), Handshake::Stage::kChallenged);
  return handshake;
}

Frame proof(const std::string& words, std::uint64_t attempt = 7) {
  return make_frame(Op::kProve, attempt, {words});
}

TEST(BoardHandshake, EndsWhereBothSidesHaveProvenTheSecret) {
  Handshake handshake;
  const auto challenge = handshake.handle_frame(make_hello(hello_of()), kNow, kBoardNonce);
  ASSERT_TRUE(challenge.answer);
  EXPECT_FALSE(challenge.closes_connection);
  EXPECT_EQ(
      challenge.answer->words,
      (std::vector{kBoardNonce, compute_proof(HandshakeSide::kBoard, kSecret, hello_of(), kBoardNonce)}));
  const auto taken = handshake.handle_frame(
      proof(compute_proof(HandshakeSide::kRank, kSecret, hello_of(), kBoardNonce)), kNow, "");
  EXPECT_EQ(kind_of(taken), number(Status::kDone));
  EXPECT_FALSE(taken.closes_connection);
  EXPECT_EQ(handshake.stage(), Handshake::Stage::kProven);
  EXPECT_EQ(handshake.hello().rank, 2u);
}

TEST(BoardHandshake, AProofIsOfOneSideOneRankOneAttemptAndBothNonces) {
  const std::string own = compute_proof(HandshakeSide::kRank, kSecret, hello_of(), kBoardNonce);
  Hello other_nonce = hello_of();
  other_nonce.nonce[0] = 'x';
  for (const std::string& wrong : {
           compute_proof(HandshakeSide::kBoard, kSecret, hello_of(),
                         kBoardNonce),  // what the board itself has just sent
           compute_proof(HandshakeSide::kRank, std::string(64, 't'), hello_of(), kBoardNonce),
           compute_proof(HandshakeSide::kRank, kSecret, hello_of(3), kBoardNonce),
           compute_proof(HandshakeSide::kRank, kSecret, hello_of(2, 8), kBoardNonce),
           compute_proof(HandshakeSide::kRank, kSecret, other_nonce, kBoardNonce),
           compute_proof(HandshakeSide::kRank, kSecret, hello_of(),
                         kRankNonce),  // replayed: the challenge was another
           own.substr(0, 31),
           own + "x",
           std::string(),
       }) {
    Handshake handshake = challenged();
    const auto step = handshake.handle_frame(proof(wrong), kNow, "");
    EXPECT_EQ(kind_of(step), number(Status::kRefused));
    EXPECT_TRUE(step.closes_connection);
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
    const auto step = handshake.handle_frame(frame, kNow, kBoardNonce);
    EXPECT_TRUE(step.closes_connection);
    EXPECT_FALSE(step.answer);
  }
  const std::string right = compute_proof(HandshakeSide::kRank, kSecret, hello_of(), kBoardNonce);
  for (const Frame& frame : {make_hello(hello_of()), make_frame(Op::kSet, 7, {"key", right}),
                             make_frame(Op::kProve, 7, {right, right}), proof(right, 8)}) {
    Handshake handshake = challenged();
    EXPECT_TRUE(handshake.handle_frame(frame, kNow, kBoardNonce).closes_connection);
    EXPECT_NE(handshake.stage(), Handshake::Stage::kProven);
  }
}

TEST(BoardHandshake, OneOfAnAttemptThatIsStillToBeginWaitsForIt) {
  Handshake handshake;
  EXPECT_FALSE(handshake.handle_frame(make_hello(hello_of(2, 8)), kNow, kBoardNonce).answer);
  EXPECT_EQ(handshake.stage(), Handshake::Stage::kEarly);
  const ServedAttempt next{.attempt = 8, .world_size = 4, .secret = std::string(64, 'n')};
  Handshake talkative = handshake;
  EXPECT_TRUE(talkative.handle_frame(make_hello(hello_of(2, 8)), kNow, kBoardNonce).closes_connection);
  Handshake skipped = handshake;
  EXPECT_EQ(kind_of(handshake.begin_attempt(next, kBoardNonce)), number(Status::kChallenge));
  const auto taken = handshake.handle_frame(
      proof(compute_proof(HandshakeSide::kRank, next.secret, hello_of(2, 8), kBoardNonce), 8), next, "");
  EXPECT_EQ(kind_of(taken), number(Status::kDone));
  const ServedAttempt later{.attempt = 9, .world_size = 4, .secret = std::string(64, 'l')};
  EXPECT_EQ(kind_of(skipped.begin_attempt(later, kBoardNonce)), number(Status::kOver));
}

TEST(BoardHandshake, OneThatIsLateIsTold) {
  Handshake late;
  const auto step = late.handle_frame(make_hello(hello_of(2, 6)), kNow, kBoardNonce);
  EXPECT_EQ(kind_of(step), number(Status::kOver));
  EXPECT_EQ(why(step), "7");
  EXPECT_TRUE(step.closes_connection);

  // Another attempt began between the challenge and the proof: the proof would be for the wrong attempt.
  const ServedAttempt next{.attempt = 8, .world_size = 4, .secret = kSecret};
  const std::string right = compute_proof(HandshakeSide::kRank, kSecret, hello_of(), kBoardNonce);
  Handshake told = challenged();
  EXPECT_EQ(kind_of(told.begin_attempt(next, kBoardNonce)), number(Status::kOver));
  Handshake asking = challenged();
  EXPECT_EQ(kind_of(asking.handle_frame(proof(right), next, "")), number(Status::kOver));
  EXPECT_NE(asking.stage(), Handshake::Stage::kProven);
}

TEST(BoardHandshake, ARankOutsideTheWorldIsRefused) {
  Handshake handshake;
  const auto step = handshake.handle_frame(make_hello(hello_of(4)), kNow, kBoardNonce);
  EXPECT_EQ(kind_of(step), number(Status::kRefused));
  EXPECT_THAT(why(step), HasSubstr("the run has 4 ranks, but a client claims to be rank 4"));
  EXPECT_TRUE(step.closes_connection);
}

TEST(BoardHandshake, ASecretThatCouldBeGuessedProvesNothing) {
  for (const std::size_t size : {0u, 31u}) {
    Handshake handshake;
    const ServedAttempt open{.attempt = 7, .world_size = 4, .secret = std::string(size, 's')};
    const auto step = handshake.handle_frame(make_hello(hello_of()), open, kBoardNonce);
    EXPECT_TRUE(step.closes_connection);
    EXPECT_FALSE(step.answer);
  }
  Handshake handshake;
  EXPECT_TRUE(handshake.handle_frame(make_hello(hello_of()), kNow, "").closes_connection)
      << "no random numbers";
}

}  // namespace
}  // namespace ratoon::board::handshake_test
