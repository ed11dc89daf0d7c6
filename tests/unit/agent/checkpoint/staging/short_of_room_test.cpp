// Two ranks on a volume that has room for fewer packs than they save: packs that will never be committed are
// removed.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/saver/saver.h"
#include "tests/support/crash/model_disk.h"

namespace ratoon::checkpoint::short_of_room_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t kWeights = 10'000;
constexpr std::uint64_t kPack = 15'000;  // with its header, and a bit more

class ShortOfRoom : public testing::Test {
 protected:
  ShortOfRoom() {
    disk_->set_faults([this](test::DiskCall call, const std::string& path) {
      const bool is_full =
          call == test::DiskCall::kReserve && path.starts_with("packs/") && packs_bytes() + kPack > room_;
      return is_full ? test::Fault{.error = Error(ErrorKind::kNoSpace, "the volume is full")} : test::Fault{};
    });
  }
  Saver open_rank(std::uint32_t rank, std::uint64_t attempt = 1, std::function<bool()> may_clean_up = {}) {
    auto saver = Saver::open(disk_, "mark" + std::to_string(rank), std::make_shared<SystemClock>(),
                             {.pause = 0ms, .has_writer_thread = false})
                     .value();
    saver.begin_attempt({.attempt = Attempt(attempt),
                         .rank = Rank(rank),
                         .world_size = 2,
                         .rules = {.last = 1},
                         .may_clean_up = std::move(may_clean_up)});
    return saver;
  }
  static SavePromise save(Saver& saver, std::uint64_t step) {
    const std::string weights(kWeights, static_cast<char>(step));
    const TensorView view{
        .name = "weights", .shape = {weights.size()}, .bytes = std::as_bytes(std::span(weights))};
    const auto ticket = saver.save(Step(step), std::span(&view, 1));
    EXPECT_TRUE(ticket) << ticket.error().message();
    return *ticket;
  }
  // Both save and poll until no work is left; returns whether the checkpoint is committed then.
  static bool save_both(Saver& first, Saver& second, std::uint64_t step) {
    const SavePromise ticket = save(first, step);
    static_cast<void>(first.poll());
    save(second, step);
    for (Saver* const saver : {&second, &first}) static_cast<void>(saver->poll());
    return ticket.wait(SaveLevel::kCommitted, 0s).has_value();
  }
  std::uint64_t packs_bytes() {
    std::uint64_t bytes = 0;
    for (const std::string& path : disk_->all_paths())
      if (path.starts_with("packs/a")) bytes += disk_->bytes_of(path)->size();
    return bytes;
  }
  bool has_packs(std::uint64_t attempt, std::uint64_t step) {
    const std::string folder = packs_folder({.attempt = Attempt(attempt), .step = Step(step)}) + "/";
    const auto paths = disk_->all_paths();
    return std::ranges::any_of(paths, [&](const std::string& path) { return path.starts_with(folder); });
  }

  const std::shared_ptr<test::ModelDisk> disk_ = std::make_shared<test::ModelDisk>();
  std::uint64_t room_ = ~0ULL;
};

TEST_F(ShortOfRoom, OnePackMoreIsEnoughOnceTheVolumeHasIt) {
  room_ = kPack * 3 / 2;
  auto first = open_rank(0);
  auto second = open_rank(1);
  for (const std::uint64_t step : {10, 20, 30}) EXPECT_FALSE(save_both(first, second, step));
  room_ += kPack;
  EXPECT_TRUE(save_both(first, second, 40)) << first.poll().last_error;
}

TEST_F(ShortOfRoom, WhatAnOlderAttemptNeverCommittedGoes) {
  {
    auto first = open_rank(0);
    save(first, 10);
    static_cast<void>(first.poll());
  }
  ASSERT_TRUE(has_packs(1, 10));
  ASSERT_LE(packs_bytes(), kPack);
  room_ = kPack * 2;
  auto first = open_rank(0, 2);
  auto second = open_rank(1, 2);
  bool is_committed = false;
  for (std::uint64_t step = 20; step <= 40 && !is_committed; step += 10)
    is_committed = save_both(first, second, step);
  EXPECT_TRUE(is_committed) << first.poll().last_error;
  EXPECT_FALSE(has_packs(1, 10));
}

TEST_F(ShortOfRoom, NothingGoesWhereAnotherJobOwnsThePlace) {
  {
    auto first = open_rank(0);
    save(first, 10);
    static_cast<void>(first.poll());
  }
  room_ = kPack * 3 / 2;
  auto first = open_rank(0, 2, [] { return false; });
  save(first, 20);
  static_cast<void>(first.poll());
  EXPECT_TRUE(has_packs(1, 10));
}

TEST_F(ShortOfRoom, WhatWaitsForAnotherRankIsGivenUpOnlyAtTheSecondRefusal) {
  auto first = open_rank(0);
  const SavePromise waiting = save(first, 10);
  static_cast<void>(first.poll());
  int refusals = 0;
  bool was_kept = true;
  disk_->set_faults([&](test::DiskCall call, const std::string& path) {
    const bool is_full = call == test::DiskCall::kReserve && path.starts_with("packs/") && has_packs(1, 10);
    if (is_full && ++refusals == 2) was_kept = has_packs(1, 10);
    return is_full ? test::Fault{.error = Error(ErrorKind::kNoSpace, "the volume is full")} : test::Fault{};
  });
  save(first, 20);
  static_cast<void>(first.poll());
  EXPECT_EQ(refusals, 2);
  EXPECT_TRUE(was_kept) << "the other rank may be about to write its pack";
  EXPECT_FALSE(has_packs(1, 10));
  EXPECT_TRUE(has_packs(1, 20));
  const auto given_up = waiting.wait(SaveLevel::kCommitted, 0s);
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().kind(), ErrorKind::kNoSpace);
  EXPECT_THAT(given_up.error().message(),
              HasSubstr("this save is abandoned to free space for the checkpoint of step 20"));
}

TEST_F(ShortOfRoom, ACommitTakesAwayWhatItPassedOver) {
  auto first = open_rank(0);
  auto second = open_rank(1);
  save(first, 10);
  static_cast<void>(first.poll());
  ASSERT_TRUE(has_packs(1, 10));
  EXPECT_TRUE(save_both(first, second, 20));
  EXPECT_FALSE(has_packs(1, 10)) << "the second rank never wrote its part";
  EXPECT_TRUE(has_packs(1, 20));
}

// Part files of a save that failed would take the room of the next save, and those of the next save the room
// of the one after it, without an end.
TEST_F(ShortOfRoom, TheSaveAfterAFailedOneHasTheRoomOfItsPartFiles) {
  constexpr std::uint64_t kPart =
      270'000;  // of the buffer's parts of 256 KiB, with its header, and a bit more
  constexpr std::uint64_t kParts = 8;
  const auto bytes_of_parts = [&] {
    std::uint64_t bytes = 0;
    for (const std::string& path : disk_->all_paths())
      if (path.starts_with("parts/a")) bytes += disk_->bytes_of(path)->size();
    return bytes;
  };
  std::uint64_t room = kPart * (kParts - 1);
  disk_->set_faults([&](test::DiskCall call, const std::string& path) {
    const bool is_full =
        call == test::DiskCall::kReserve && path.starts_with("parts/") && bytes_of_parts() + kPart > room;
    return is_full ? test::Fault{.error = Error(ErrorKind::kNoSpace, "the volume is full")} : test::Fault{};
  });
  auto saver = Saver::open(disk_, "mark", std::make_shared<SystemClock>(),
                           {.slots_max = 0, .pause = 0ms, .has_writer_thread = false})
                   .value();
  saver.begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 1}});
  const auto is_saved = [&](std::uint64_t step) {
    std::string rows(kParts << 18, static_cast<char>(step));
    for (std::uint64_t part = 0; part < kParts; ++part) rows[part << 18] = static_cast<char>(part);
    const TensorView view{.name = "buffer",
                          .shape = {rows.size()},
                          .bytes = std::as_bytes(std::span(rows)),
                          .is_saved_in_parts = true};
    const auto ticket = saver.save(Step(step), std::span(&view, 1));
    static_cast<void>(saver.poll());
    return ticket && ticket->wait(SaveLevel::kCommitted, 0s).has_value();
  };
  EXPECT_FALSE(is_saved(10));
  EXPECT_EQ(bytes_of_parts(), 0u);
  room = kPart * kParts + kPart / 2;
  EXPECT_TRUE(is_saved(20)) << saver.poll().last_error;
}

}  // namespace
}  // namespace ratoon::checkpoint::short_of_room_test
