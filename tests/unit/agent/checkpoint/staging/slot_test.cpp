// All decisions about slots, without memory, threads or time.
#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/staging/slot_info.h"
#include "agent/src/checkpoint/staging/slot_rules.h"
#include "agent/src/checkpoint/staging/slot_table.h"
#include "agent/src/checkpoint/staging/stale_save_check.h"
#include "base/core/crc32c.h"

namespace ratoon::checkpoint::slot_test {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

StagedPack pack_of(std::uint64_t attempt, std::uint64_t step, std::uint64_t image_bytes = 4096) {
  return {.id = {.attempt = Attempt(attempt), .step = Step(step)},
          .rank = Rank(1),
          .world_size = 2,
          .image_bytes = image_bytes};
}

TEST(SlotInfoBytes, ReadBackAsTheyWere) {
  for (const auto state : {SlotState::kFree, SlotState::kFilling, SlotState::kStaged, SlotState::kWriting}) {
    const SlotInfo info{
        .state = state, .generation = 0x0102030405060708, .pack = pack_of(3, 1200, 1ULL << 40)};
    EXPECT_EQ(decode_slot_info(bytes_of(encode_slot_info(info))), info);
  }
}

TEST(SlotInfoBytes, AreNothingForAnotherFolder) {
  const SlotInfo info{.state = SlotState::kStaged, .generation = 1, .pack = pack_of(3, 10)};
  const std::string bytes = encode_slot_info(info, 7);
  EXPECT_EQ(decode_slot_info(bytes_of(bytes), 7), info);
  EXPECT_EQ(decode_slot_info(bytes_of(bytes), 8), std::nullopt);
}

// Every field, with the longest texts and lists that a run record may have. A control character is the byte
// that takes most room in a receipt.
RunRecord longest_run_record() {
  const std::string reason(kReasonBytesMax, '\x01');
  RunRecord run{.batches = 11,
                .samples = 12,
                .epoch_samples = 13,
                .trained_nanoseconds = 14,
                .history_attempt = 15,
                .history_bytes = kNumberMax,
                .early_end = EarlyEnd{.reason = reason, .until = std::string(kPlannedEndBytesMax, 'u')},
                .numerics = Numerics{.library = std::string(kNumericsTextBytesMax, 'l'),
                                     .device = std::string(kNumericsTextBytesMax, 'd'),
                                     .cpu_capability = std::string(kNumericsTextBytesMax, 'c'),
                                     .threads = ~0U,
                                     .is_deterministic = true},
                .seed = ~0ULL,
                .keep = reason,
                .requests = {.save = true, .keep = reason, .finish = reason},
                .begins_epoch = true};
  const CheckpointId last{.attempt = Attempt(kAttemptMax), .step = Step(kNumberMax)};
  for (std::uint64_t i = 0; i < kUnpinnedOfRankMax; ++i)
    run.unpinned.push_back({.step = kNumberMax - i, .since = last});
  for (std::size_t i = 0; i < kBestNamesMax; ++i) {
    const std::string name(kBestNameBytesMax, static_cast<char>('a' + i));
    const BestCheckpoint longest{.id = last, .value = -std::numeric_limits<double>::denorm_min()};
    run.best.push_back(
        {.name = name, .keep = kBestKeptMax, .kept = std::vector(kBestKeptMax + kBestSpareEntries, longest)});
  }
  return run;
}

TEST(SlotInfoBytes, KeepWhatIsSaidOfTheRun) {
  SlotInfo info{.state = SlotState::kStaged, .generation = 7, .pack = pack_of(3, 10)};
  info.pack.run = longest_run_record();
  const std::string bytes = encode_slot_info(info);
  EXPECT_LE(bytes.size(), kSlotInfoBytesMax);
  EXPECT_EQ(decode_slot_info(bytes_of(bytes)), info);
}

// A process may be killed between any two bytes of the slots' heads.
TEST(SlotInfoBytes, HalfOldAndHalfNewAreNothing) {
  SlotInfo old{.state = SlotState::kStaged, .generation = 7, .pack = pack_of(3, 10)};
  old.pack.run = RunRecord{.batches = 10, .keep = "reason"};
  const std::string old_bytes = encode_slot_info(old);
  const std::string new_bytes = encode_slot_info({.state = SlotState::kFilling, .generation = 9, .pack = {}});
  for (const auto& [before, after] : {std::pair(old_bytes, new_bytes), std::pair(new_bytes, old_bytes)}) {
    for (std::size_t cut = 1; cut < after.size(); ++cut) {
      std::string torn = before;
      torn.resize(std::max(before.size(), cut));
      std::copy_n(after.begin(), cut, torn.begin());
      if (torn.starts_with(before) || torn.starts_with(after)) continue;
      EXPECT_EQ(decode_slot_info(bytes_of(torn)), std::nullopt) << cut;
    }
  }
}

TEST(SlotInfoBytes, OfOthersAreNothing) {
  EXPECT_EQ(decode_slot_info({}), std::nullopt);
  EXPECT_EQ(decode_slot_info(bytes_of(std::string(kSlotInfoBytesMax, '\0'))), std::nullopt);
  SlotInfo info{.state = SlotState::kStaged, .generation = 7, .pack = pack_of(3, 10)};
  info.pack.run = RunRecord{.batches = 10};
  const std::string good = encode_slot_info(info);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1U << (bit % 8)));
    EXPECT_EQ(decode_slot_info(bytes_of(flipped)), std::nullopt) << bit;
  }
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(decode_slot_info(bytes_of(good).first(size)), std::nullopt) << size;
}

// Other users may write to the folder of slots, and a checksum is easily computed.
TEST(SlotInfoBytes, ThatSayWhatWeNeverWroteAreNothing) {
  SlotInfo info{.state = SlotState::kStaged, .generation = 7, .pack = pack_of(3, 10)};
  info.pack.run = RunRecord{.early_end = EarlyEnd{.reason = "reason", .until = "until"}};
  const std::string good = encode_slot_info(info);
  const auto with = [&](std::string bytes, std::size_t at, std::uint64_t number) {
    for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(number >> (8 * i));
    const std::size_t checked = bytes.size() - 4;
    const std::uint32_t sum = crc32c(bytes_of(bytes).first(checked));
    for (std::size_t i = 0; i < 4; ++i) bytes[checked + i] = static_cast<char>(sum >> (8 * i));
    return bytes;
  };
  constexpr std::size_t kAttemptAt = 24;
  constexpr std::size_t kStepAt = 32;
  constexpr std::size_t kReceiptBytesAt = 72;
  const std::uint64_t receipt_bytes = good.size() - 84;
  ASSERT_EQ(decode_slot_info(bytes_of(with(good, kReceiptBytesAt, receipt_bytes))), info);
  for (const std::uint64_t length :
       {receipt_bytes + 1, std::uint64_t{kSlotInfoBytesMax}, std::uint64_t{1} << 40, ~std::uint64_t{0}})
    EXPECT_EQ(decode_slot_info(bytes_of(with(good, kReceiptBytesAt, length))), std::nullopt) << length;
  for (const std::uint64_t attempt : {kAttemptMax + 1, ~std::uint64_t{0}})
    EXPECT_EQ(decode_slot_info(bytes_of(with(good, kAttemptAt, attempt))), std::nullopt) << attempt;
  for (const std::uint64_t step : {kNumberMax + 1, ~std::uint64_t{0}})
    EXPECT_EQ(decode_slot_info(bytes_of(with(good, kStepAt, step))), std::nullopt) << step;
  EXPECT_TRUE(decode_slot_info(bytes_of(with(with(good, kAttemptAt, kAttemptMax), kStepAt, kNumberMax))));
}

TEST(Slots, AreWrittenInTheOrderInWhichTheyWereFilled) {
  SlotTable table(3);
  for (std::uint64_t step : {10, 20, 30}) {
    const auto slot = table.next_free();
    ASSERT_TRUE(slot);
    table.begin_filling(*slot);
    table.stage(*slot, pack_of(1, step));
  }
  EXPECT_EQ(table.next_free(), std::nullopt);
  for (std::uint64_t step : {10, 20}) {
    const auto slot = table.begin_writing();
    ASSERT_TRUE(slot);
    EXPECT_EQ(table[*slot].pack.id.step, Step(step));
    table.release(*slot);
  }
  EXPECT_EQ(table.count(SlotState::kFree), 2u);
}

TEST(Slots, TheWarmestIsTakenFirst) {
  SlotTable table(3);
  table.begin_filling(1);
  table.release(1);
  EXPECT_EQ(table.next_free(), 1u);
}

TEST(Slots, OneThatIsPutBackIsStillTheFirst) {
  SlotTable table(2);
  table.begin_filling(0);
  table.stage(0, pack_of(1, 10));
  table.begin_filling(1);
  table.stage(1, pack_of(1, 20));
  ASSERT_EQ(table.begin_writing(), 0u);
  table.requeue_write(0);
  EXPECT_EQ(table.begin_writing(), 0u);
  EXPECT_EQ(table.begin_writing(), 1u) << "two may be written at once";
  EXPECT_EQ(table.begin_writing(), std::nullopt);
}

TEST(Slots, HaveOneOwnerAtATime) {
  SlotTable table(2);
  EXPECT_THROW(table.stage(0, pack_of(1, 10)), std::logic_error) << "free";
  EXPECT_THROW(table.release(0), std::logic_error);
  table.begin_filling(0);
  EXPECT_THROW(table.begin_filling(0), std::logic_error);
  EXPECT_THROW(table.requeue_write(0), std::logic_error);
  table.stage(0, pack_of(1, 10));
  EXPECT_THROW(table.begin_filling(0), std::logic_error) << "the next save would overwrite this one";
  EXPECT_THROW(table.release(0), std::logic_error);
  ASSERT_EQ(table.begin_writing(), 0u);
  EXPECT_THROW(table.begin_filling(0), std::logic_error);
  EXPECT_THROW(table.discard(0), std::logic_error) << "the writer reads it";
  EXPECT_THROW(table.begin_filling(2), std::out_of_range);
}

TEST(Slots, OfADeadProcessAreWrittenFirstAndItsGenerationsGoOn) {
  SlotTable table;
  table.adopt({.state = SlotState::kFilling, .generation = 9, .pack = pack_of(3, 30)});
  table.adopt({.state = SlotState::kWriting, .generation = 8, .pack = pack_of(3, 20)});
  EXPECT_EQ(table[0].state, SlotState::kFree) << "half a copy is none";
  EXPECT_EQ(table[1].state, SlotState::kStaged);
  table.begin_filling(0);
  EXPECT_EQ(table[0].generation, 10u);
  table.stage(0, pack_of(4, 40));
  EXPECT_EQ(table.begin_writing(), 1u);
}

TEST(SlotDecision, IsFoundInWhatIsThereThenAddedThenWaitedFor) {
  const SlotFacts facts{.image_bytes = 10, .budget_bytes = 25, .taken_bytes = 10, .slots = 1, .slots_max = 2};
  const auto with = [&](auto change) {
    SlotFacts changed = facts;
    change(changed);
    return choose_slot(changed);
  };
  EXPECT_EQ(choose_slot(facts), SlotDecision::kAdd) << "the one is busy";
  EXPECT_EQ(with([](auto& f) { f.free_slot_bytes = 10; }), SlotDecision::kTake);
  EXPECT_EQ(with([](auto& f) { f.taken_bytes = 16; }), SlotDecision::kWait)
      << "a second would be beyond the budget";
  EXPECT_EQ(with([](auto& f) { f.slots_max = 1; }), SlotDecision::kWait);
  EXPECT_EQ(with([](auto& f) { f.slots_max = f.slots = 0; }), SlotDecision::kNone);
  EXPECT_EQ(with([](auto& f) { f.slots = f.taken_bytes = 0; }), SlotDecision::kAdd);
  EXPECT_EQ(with([](auto& f) {
              f.slots = f.taken_bytes = 0;
              f.image_bytes = 26;
            }),
            SlotDecision::kNone)
      << "not even one";
}

TEST(SlotDecision, ASlotGrowsWithinTheBudget) {
  SlotFacts facts{.image_bytes = 15,
                  .budget_bytes = 25,
                  .taken_bytes = 20,
                  .slots = 2,
                  .slots_max = 2,
                  .free_slot_bytes = 10};
  EXPECT_EQ(choose_slot(facts), SlotDecision::kTake) << "10 of the other and 15";
  facts.image_bytes = 16;
  EXPECT_EQ(choose_slot(facts), SlotDecision::kNone);
  facts = {.image_bytes = 10,
           .budget_bytes = 5,
           .taken_bytes = 10,
           .slots = 1,
           .slots_max = 1,
           .free_slot_bytes = 10};
  EXPECT_EQ(choose_slot(facts), SlotDecision::kTake)
      << "it is there: an inherited slot may be larger than a new budget";
}

TEST(LeftoverAction, IsFinishedWhereNobodyElseHasIt) {
  const SlotInfo staged{.state = SlotState::kStaged, .generation = 4, .pack = pack_of(3, 30)};
  SlotInfo writing = staged;
  writing.state = SlotState::kWriting;
  const CheckpointId older{.attempt = Attempt(3), .step = Step(20)};
  EXPECT_EQ(choose_leftover_action(staged, 4096, std::nullopt), LeftoverAction::kFinish);
  EXPECT_EQ(choose_leftover_action(staged, 4096, older), LeftoverAction::kFinish);
  EXPECT_EQ(choose_leftover_action(writing, 4096, older), LeftoverAction::kFinish)
      << "it is unknown how far it came";
  SlotInfo written = staged;
  written.state = SlotState::kFree;
  EXPECT_EQ(choose_leftover_action(written, 4096, older), LeftoverAction::kCommit);
  EXPECT_EQ(choose_leftover_action(written, 4096, staged.pack.id), LeftoverAction::kDiscard)
      << "which was done";
}

TEST(LeftoverAction, IsDiscardedWhereItIsHalfOrLate) {
  const SlotInfo staged{.state = SlotState::kStaged, .generation = 4, .pack = pack_of(3, 30)};
  SlotInfo filling = staged;
  filling.state = SlotState::kFilling;
  EXPECT_EQ(choose_leftover_action(filling, 4096, std::nullopt), LeftoverAction::kDiscard);
  EXPECT_EQ(choose_leftover_action({}, 4096, std::nullopt), LeftoverAction::kDiscard)
      << "it never held anything";
  EXPECT_EQ(choose_leftover_action(staged, 4095, std::nullopt), LeftoverAction::kDiscard)
      << "more than the file has";
  EXPECT_EQ(choose_leftover_action(staged, 4096, staged.pack.id), LeftoverAction::kDiscard)
      << "it is committed";
  EXPECT_EQ(choose_leftover_action(staged, 4096, CheckpointId{.attempt = Attempt(4), .step = Step(1)}),
            LeftoverAction::kDiscard)
      << "a newer attempt has committed: it went another way";
  SlotInfo odd = staged;
  odd.pack.rank = Rank(2);
  EXPECT_EQ(choose_leftover_action(odd, 4096, std::nullopt), LeftoverAction::kDiscard)
      << "no rank of its world";
}

TEST(Tries, AreFewerWhereANewerSaveWaits) {
  EXPECT_TRUE(may_retry_write(1, true));
  EXPECT_FALSE(may_retry_write(2, true));
  EXPECT_TRUE(may_retry_write(2, false));
  EXPECT_FALSE(may_retry_write(3, false));
}

class FreshnessTest : public testing::Test {
 protected:
  bool is_stale(std::uint64_t step, std::uint64_t weights, std::uint64_t frozen) {
    const Hash128 hashes[] = {{.high = 1, .low = weights}, {.high = 2, .low = frozen}};
    return stale_save_check_.is_stale(Step(step), layout_, hashes);
  }
  const PackLayout layout_{.tensors = {{.name = "weights"}, {.name = "frozen"}}};
  StaleSaveCheck stale_save_check_;
};

TEST_F(FreshnessTest, WhatUsedToChangeAndDoesNotIsStale) {
  EXPECT_FALSE(is_stale(10, 1, 1));
  EXPECT_FALSE(is_stale(20, 2, 1));
  EXPECT_TRUE(is_stale(30, 2, 1));
  EXPECT_FALSE(is_stale(40, 3, 1)) << "and again it changes";
  EXPECT_TRUE(is_stale(50, 3, 1));
}

TEST_F(FreshnessTest, WhatNeverChangedIsFrozen) {
  EXPECT_FALSE(is_stale(10, 1, 1));
  EXPECT_FALSE(is_stale(20, 1, 1)) << "nobody knows yet whether it should";
  EXPECT_FALSE(is_stale(30, 2, 1));
  EXPECT_FALSE(is_stale(30, 2, 1)) << "no step was made";
  stale_save_check_.forget();
  EXPECT_FALSE(is_stale(40, 2, 1)) << "another attempt has resumed from it";
}

}  // namespace
}  // namespace ratoon::checkpoint::slot_test
