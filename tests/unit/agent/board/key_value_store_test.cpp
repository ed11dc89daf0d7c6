// The values on the board and the readers that wait for them, without sockets.
#include "agent/src/board/key_value_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::board::key_value_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class BoardNotes : public testing::Test {
 protected:
  // "reader:status words" of each answer.
  static std::vector<std::string> text_of(const KeyValueStore::Answers& answers) {
    std::vector<std::string> lines;
    for (const auto& [to, frame] : answers) {
      const auto status = static_cast<Status>(frame.kind);
      std::string line = std::to_string(to) + ":" +
                         (status == Status::kDone   ? "done"
                          : status == Status::kOver ? "over"
                                                    : "refused");
      if (status != Status::kRefused)
        for (const std::string& word : frame.words) line += " " + word;
      lines.push_back(line);
    }
    return lines;
  }
  std::vector<std::string> take(KeyValueStore::Reader from, Op op, std::vector<std::string> words,
                                std::uint64_t attempt = 1) {
    return take_of(0, from, op, std::move(words), attempt);
  }
  std::vector<std::string> take_of(std::uint32_t rank, KeyValueStore::Reader from, Op op,
                                   std::vector<std::string> words, std::uint64_t attempt = 1) {
    return text_of(notes.handle_request(from, rank, make_frame(op, attempt, std::move(words))));
  }
  static KeyValueStore begun(const KeyValueLimits& limits = {}) {
    KeyValueStore notes(limits);
    static_cast<void>(notes.begin_attempt(1));
    return notes;
  }

  KeyValueStore notes = begun();
};

TEST_F(BoardNotes, AreSetAndRead) {
  EXPECT_THAT(take(1, Op::kSet, {"a", "first"}), ElementsAre("1:done"));
  EXPECT_THAT(take(1, Op::kSet, {"a", "second"}), ElementsAre("1:done"));
  EXPECT_THAT(take(2, Op::kAppend, {"a", "more"}), ElementsAre("2:done"));
  EXPECT_THAT(take(2, Op::kAppend, {"b", "new"}), ElementsAre("2:done"));
  EXPECT_THAT(take(3, Op::kGet, {"b", "a"}), ElementsAre("3:done new secondmore"));
  EXPECT_THAT(take(3, Op::kCheck, {"a", "b"}), ElementsAre("3:done 1"));
  EXPECT_THAT(take(3, Op::kCheck, {"a", "c"}), ElementsAre("3:done 0"));
  EXPECT_THAT(take(3, Op::kCount, {}), ElementsAre("3:done 2"));
  EXPECT_THAT(take(3, Op::kErase, {"a"}), ElementsAre("3:done 1"));
  EXPECT_THAT(take(3, Op::kErase, {"a"}), ElementsAre("3:done 0"));
}

TEST_F(BoardNotes, AreCounted) {
  EXPECT_THAT(take(1, Op::kAdd, {"n", "5"}), ElementsAre("1:done 5"));
  EXPECT_THAT(take(1, Op::kAdd, {"n", "-7"}), ElementsAre("1:done -2"));
  EXPECT_THAT(take(1, Op::kGet, {"n"}), ElementsAre("1:done -2"));
  EXPECT_THAT(take(1, Op::kAdd, {"n", "x"}), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kAdd, {"n", "-9223372036854775807"}), ElementsAre("1:refused"));
}

TEST_F(BoardNotes, AreWaitedForUntilTheLastIsThere) {
  EXPECT_THAT(take(1, Op::kGet, {"a", "b", "c"}), IsEmpty());
  EXPECT_THAT(take(2, Op::kWait, {"c"}), IsEmpty());
  EXPECT_THAT(take(9, Op::kSet, {"b", "B"}), ElementsAre("9:done"));
  EXPECT_THAT(take(9, Op::kSet, {"c", "C"}), ElementsAre("9:done", "2:done"));
  EXPECT_TRUE(notes.is_waiting(1));
  EXPECT_THAT(take(9, Op::kAdd, {"a", "1"}), ElementsAre("9:done 1", "1:done 1 B C"));
  EXPECT_FALSE(notes.is_waiting(1));
}

TEST_F(BoardNotes, ThatAreErasedMeanwhileAreWaitedForAgain) {
  static_cast<void>(take(9, Op::kSet, {"a", "A"}));
  EXPECT_THAT(take(1, Op::kGet, {"a", "b"}), IsEmpty());
  static_cast<void>(take(9, Op::kErase, {"a"}));
  EXPECT_THAT(take(9, Op::kSet, {"b", "B"}), ElementsAre("9:done"));
  EXPECT_THAT(take(9, Op::kSet, {"a", "again"}), ElementsAre("9:done", "1:done again B"));
}

TEST_F(BoardNotes, AreNotKeptForReadersWhoLeft) {
  EXPECT_THAT(take(1, Op::kGet, {"a"}), IsEmpty());
  EXPECT_THAT(take(2, Op::kGet, {"a"}), IsEmpty());
  notes.cancel_wait(1);
  notes.cancel_wait(3);
  EXPECT_THAT(take(9, Op::kSet, {"a", "A"}), ElementsAre("9:done", "2:done A"));
}

TEST_F(BoardNotes, OfAnotherAttemptAreNotTaken) {
  EXPECT_THAT(take(1, Op::kSet, {"a", "early"}, 2), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kGet, {"a"}, 2), ElementsAre("1:refused"));
  EXPECT_EQ(notes.bytes(), 0u);
  static_cast<void>(notes.begin_attempt(2));
  EXPECT_THAT(take(1, Op::kCount, {}, 2), ElementsAre("1:done 0"));
}

TEST_F(BoardNotes, OfOlderAttemptsAreDroppedAndWhatIsLateIsTold) {
  static_cast<void>(take(1, Op::kSet, {"a", "old"}));
  EXPECT_THAT(take(2, Op::kGet, {"b"}), IsEmpty());
  EXPECT_THAT(text_of(notes.begin_attempt(2)), ElementsAre("2:over 2"));
  EXPECT_FALSE(notes.is_waiting(2));
  EXPECT_THAT(take(1, Op::kSet, {"a", "late"}), ElementsAre("1:over 2"));
  EXPECT_THAT(take(1, Op::kCheck, {"a"}, 2), ElementsAre("1:done 0"));
  EXPECT_THAT(text_of(notes.begin_attempt(1)), IsEmpty()) << "attempts never go back";
  EXPECT_THAT(take(1, Op::kCount, {}), ElementsAre("1:over 2"));
}

TEST_F(BoardNotes, AreChangedByTheRankThatLeftThemAlone) {
  EXPECT_THAT(take_of(1, 1, Op::kSet, {"a", "A"}), ElementsAre("1:done"));
  EXPECT_THAT(take_of(1, 1, Op::kAppend, {"a", "A"}), ElementsAre("1:done"));
  EXPECT_THAT(take_of(2, 2, Op::kSet, {"a", "forged"}), ElementsAre("2:refused"));
  EXPECT_THAT(take_of(2, 2, Op::kAppend, {"a", "forged"}), ElementsAre("2:refused"));
  EXPECT_THAT(take_of(2, 2, Op::kAdd, {"a", "1"}), ElementsAre("2:refused"));
  EXPECT_THAT(take_of(2, 2, Op::kErase, {"a"}), ElementsAre("2:refused"));
  EXPECT_THAT(take_of(0, 3, Op::kErase, {"a"}), ElementsAre("3:refused"));
  EXPECT_THAT(take_of(2, 2, Op::kGet, {"a"}), ElementsAre("2:done AA"));
  EXPECT_THAT(take_of(1, 1, Op::kErase, {"a"}), ElementsAre("1:done 1"));
  EXPECT_THAT(take_of(2, 2, Op::kSet, {"a", "B"}), ElementsAre("2:done")) << "it is free again";
}

TEST_F(BoardNotes, ThatAreCountedAreOfAllRanks) {
  EXPECT_THAT(take_of(1, 1, Op::kAdd, {"n", "1"}), ElementsAre("1:done 1"));
  EXPECT_THAT(take_of(2, 2, Op::kAdd, {"n", "1"}), ElementsAre("2:done 2"));
  EXPECT_THAT(take_of(2, 2, Op::kSet, {"n", "100"}), ElementsAre("2:refused"));
  EXPECT_THAT(take_of(2, 2, Op::kErase, {"n"}), ElementsAre("2:refused"));
}

TEST_F(BoardNotes, MarksAreSetByTheirRankAlone) {
  for (const Op op : {Op::kSet, Op::kAppend, Op::kAdd})
    EXPECT_THAT(take_of(1, 1, op, {rank_mark_key(2), "1"}), ElementsAre("1:refused"));
  EXPECT_THAT(take_of(3, 3, Op::kGet, {rank_mark_key(1), rank_mark_key(2)}), IsEmpty());
  EXPECT_THAT(take_of(2, 2, Op::kMark, {"two"}), ElementsAre("2:done"));
  EXPECT_THAT(take_of(2, 2, Op::kErase, {rank_mark_key(2)}), ElementsAre("2:refused"));
  EXPECT_THAT(take_of(1, 1, Op::kMark, {"one"}), ElementsAre("1:done", "3:done one two"));
}

TEST_F(BoardNotes, OfHundredsOfAttemptsTakeNoMoreThanOfOne) {
  std::size_t of_one = 0;
  for (std::uint64_t attempt = 1; attempt <= 500; ++attempt) {
    static_cast<void>(notes.begin_attempt(attempt));
    for (int i = 0; i < 10; ++i)
      static_cast<void>(take(1, Op::kSet, {"key " + std::to_string(i), std::string(100, 'x')}, attempt));
    EXPECT_THAT(take(attempt * 2, Op::kGet, {"never"}, attempt), IsEmpty());
    if (attempt == 1) of_one = notes.bytes();
    EXPECT_EQ(notes.bytes(), of_one);
  }
  static_cast<void>(notes.begin_attempt(501));
  EXPECT_EQ(notes.bytes(), 0u);
}

TEST_F(BoardNotes, OfOneRankAreBoundedAndLeaveRoomForTheOthers) {
  notes = begun({.bytes = 100'000, .bytes_per_rank = 10'000, .keys_per_rank = 3});
  const std::string large(6'000, 'x');
  EXPECT_THAT(take_of(1, 1, Op::kSet, {"a", large}), ElementsAre("1:done"));
  EXPECT_THAT(take_of(1, 1, Op::kSet, {"b", large}), ElementsAre("1:refused"));
  EXPECT_THAT(take_of(1, 1, Op::kMark, {large}), ElementsAre("1:refused"));
  EXPECT_THAT(take_of(1, 1, Op::kGet, std::vector<std::string>(1'000, "c")), ElementsAre("1:refused"));
  EXPECT_THAT(take_of(2, 2, Op::kSet, {"b", large}), ElementsAre("2:done"));
  EXPECT_THAT(take_of(1, 1, Op::kErase, {"a"}), ElementsAre("1:done 1"));
  for (const std::string key : {"k", "l", "m"})
    EXPECT_THAT(take_of(1, 1, Op::kSet, {key, ""}), ElementsAre("1:done"));
  EXPECT_THAT(take_of(1, 1, Op::kSet, {"n", ""}), ElementsAre("1:refused")) << "three keys a rank";
  EXPECT_THAT(take_of(1, 1, Op::kSet, {"m", "more"}), ElementsAre("1:done"));
  EXPECT_THAT(take_of(1, 1, Op::kErase, {"m"}), ElementsAre("1:done 1"));
  EXPECT_THAT(take_of(1, 1, Op::kSet, {"n", ""}), ElementsAre("1:done"));
}

TEST_F(BoardNotes, AreRefusedWhenItIsFull) {
  notes = begun({.bytes = 10'000});
  const std::string large(6'000, 'x');
  EXPECT_THAT(take(1, Op::kSet, {"a", large}), ElementsAre("1:done"));
  EXPECT_THAT(take(1, Op::kSet, {"b", large}), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kAppend, {"a", large}), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kSet, {"a", large}), ElementsAre("1:done")) << "in the place of the old one";
  EXPECT_THAT(take(1, Op::kGet, std::vector<std::string>(1'000, "c")), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kErase, {"a"}), ElementsAre("1:done 1"));
  EXPECT_EQ(notes.bytes(), 0u);
}

TEST_F(BoardNotes, AreNotGivenOutInOneTooLargeAnswer) {
  static_cast<void>(take(1, Op::kSet, {"a", std::string(kFrameBytesMax / 4, 'x')}));
  EXPECT_THAT(take(1, Op::kGet, {"a", "a", "a"}), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kWait, {"a", "a", "a"}), ElementsAre("1:done"));
}

TEST_F(BoardNotes, RefuseWhatTheyDoNotUnderstand) {
  EXPECT_THAT(take(1, static_cast<Op>(99), {}), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, static_cast<Op>(Status::kDone), {}), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kSet, {"a"}), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kCount, {"a"}), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kHello, {"0", "nonce"}), ElementsAre("1:refused"));
  EXPECT_THAT(take(1, Op::kProve, {"proof"}), ElementsAre("1:refused"));
}

}  // namespace
}  // namespace ratoon::board::key_value_store_test
