// Saves with a thread: the transfer of data, the waits of training, and the reports of a bad disk.
#include "agent/src/checkpoint/saver/saver.h"

#include <atomic>
#include <future>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/crash/wait_until_alone.h"
#include "tests/unit/agent/checkpoint/staging/saver_fixture.h"

namespace ratoon::checkpoint::saver_test {
namespace {

using namespace std::chrono_literals;
using test::DiskCall;
using test::Fault;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

using saver_fixture::kSoon;
using saver_fixture::SaverTest;

TEST_P(SaverTest, TheLevelsOfASaveComeInOrder) {
  auto saver = open();
  gate_->close();
  const auto ticket = save(saver, 10);
  ASSERT_TRUE(ticket);
  EXPECT_TRUE(ticket->wait(SaveLevel::kStaged, 0s));
  gate_->await_somebody();
  EXPECT_EQ(ticket->wait(SaveLevel::kWritten, 0s).error().kind(), ErrorKind::kTimeout);
  EXPECT_FALSE(saver.poll().is_written);
  gate_->open();
  EXPECT_TRUE(ticket->wait(SaveLevel::kCommitted, kSoon));
  EXPECT_TRUE(ticket->wait(SaveLevel::kWritten, 0s));
  EXPECT_TRUE(ticket->wait(SaveLevel::kStored, kSoon)) << "no store is to get a copy";
  const auto progress = settled(saver);
  EXPECT_EQ(progress.committed->step, Step(10));
  EXPECT_EQ(progress.missed_saves, 0u);
  expect_on_disk(10);
}

// The files on which a manifest relies, other than packs, are durable before the manifest.
// Two ranks, of which the other commits: without checkpoints at home, the checkpoint may be in a store alone
// before this rank checks.
TEST_P(SaverTest, WhatHasLeftForAStoreBeforeItWasSeenIsCommitted) {
  gate_->open();
  auto saver =
      Saver::open(disk_, "mark", std::make_shared<SystemClock>(), {.has_writer_thread = false}).value();
  bool is_in_store = true;
  const CheckpointId id{.attempt = Attempt(1), .step = Step(10)};
  saver.begin_attempt({.attempt = Attempt(1),
                       .rank = Rank(1),
                       .world_size = 2,
                       .find_store_copy = [&is_in_store](const CheckpointId& wanted) {
                         return is_in_store ? std::optional(entry_of(wanted, "digest", true)) : std::nullopt;
                       }});
  const auto ticket = save(saver, 10);
  const auto is_committed_after_looks = [&] {
    for (int i = 0; i < 5; ++i) static_cast<void>(saver.poll());
    return ticket->wait(SaveLevel::kCommitted, 0s).has_value();
  };
  EXPECT_FALSE(is_committed_after_looks()) << "its vote is there: it has not left";
  EXPECT_TRUE(ticket->wait(SaveLevel::kWritten, 0s));
  is_in_store = false;
  ASSERT_TRUE(disk_->remove(receipt_path(id, Rank(1))));
  EXPECT_FALSE(is_committed_after_looks()) << "nor is it in a store: it was swept";
  is_in_store = true;
  EXPECT_TRUE(is_committed_after_looks());
  EXPECT_EQ(settled(saver).committed->step, Step(10));
}

// The process was silent for a lease, and does not know yet: older files in this place belong to another job.
TEST_P(SaverTest, APlaceThatIsAnothersByNowIsNotCleanedUp) {
  gate_->open();
  auto saver = open();
  saver.begin_attempt(
      {.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 2}, .may_clean_up = [] {
         return false;
       }});
  for (const std::uint64_t step : {10u, 20u, 30u, 40u}) {
    const auto ticket = save(saver, step);
    ASSERT_TRUE(ticket && ticket->wait(SaveLevel::kCommitted, kSoon)) << step;
  }
  for (const std::uint64_t step : {10u, 20u, 30u, 40u}) expect_on_disk(step);
}

TEST_P(SaverTest, WhatGoesBeforeACommitIsDoneBeforeTheManifestIsThere) {
  std::atomic<int> calls = 0;
  std::atomic<bool> was_first = false;
  auto saver = open();
  saver.begin_attempt(
      {.attempt = Attempt(2), .rank = Rank(0), .world_size = 1, .rules = {.last = 2}, .before_commit = [&] {
         was_first = disk_->bytes_of("manifests/s0000000010.a0002.json") == nullptr;
         ++calls;
       }});
  ASSERT_TRUE(save(saver, 10));
  EXPECT_EQ(settled(saver).committed->step, Step(10));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(was_first);
}

TEST_P(SaverTest, ACommitInAPlaceThatIsAnothersByNowIsNotToldOf) {
  std::atomic<bool> is_ours = true;
  const auto confirm = [&]() -> Result<void> {
    if (is_ours) return {};
    return Error(ErrorKind::kConflict, "the place is another job's");
  };
  auto saver = open();
  saver.begin_attempt({.attempt = Attempt(2),
                       .rank = Rank(0),
                       .world_size = 1,
                       .rules = {.last = 2},
                       .confirm_ownership = confirm});
  ASSERT_TRUE(save(saver, 10));
  EXPECT_EQ(settled(saver).committed->step, Step(10));
  is_ours = false;
  const auto ticket = save(saver, 20);
  ASSERT_TRUE(ticket);
  EXPECT_FALSE(ticket->wait(SaveLevel::kCommitted, 1min));
  const auto progress = settled(saver);
  EXPECT_EQ(progress.committed->step, Step(10));
  EXPECT_THAT(progress.last_error, HasSubstr("the place is another job's"));
}

TEST_P(SaverTest, TwoAreInFlightAndAThirdWaitsForASlot) {
  auto saver = open();
  gate_->close();
  const auto first = save(saver, 10);
  gate_->await_somebody();
  const auto second = save(saver, 20);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->wait(SaveLevel::kStaged, 0s));
  auto third = std::async(std::launch::async, [&] { return save(saver, 30); });
  EXPECT_EQ(third.wait_for(50ms), std::future_status::timeout);
  gate_->open();
  ASSERT_TRUE(third.get());
  const auto progress = settled(saver);
  EXPECT_EQ(progress.committed->step, Step(30));
  for (const std::uint64_t step : {20, 30}) expect_on_disk(step);
  EXPECT_FALSE(disk_->bytes_of("manifests/s0000000010.a0001.json")) << "two are kept";
}

TEST_P(SaverTest, ADiskThatRefusesOnceCostsNothing) {
  auto saver = open();
  *refused_ = 2;
  const auto ticket = save(saver, 10);
  ASSERT_TRUE(ticket);
  EXPECT_TRUE(ticket->wait(SaveLevel::kCommitted, kSoon));
  const auto progress = settled(saver);
  EXPECT_EQ(progress.missed_saves, 0u);
  EXPECT_THAT(progress.events, Contains(HasSubstr("is tried again: ")));
  expect_on_disk(10);
}

TEST_P(SaverTest, OneThatGoesOnRefusingIsCountedUntilItTakesOneAgain) {
  auto saver = open();
  *refused_ = 1'000'000;
  for (const std::uint64_t step : {10, 20}) {
    const auto ticket = save(saver, step);
    ASSERT_TRUE(ticket);
    EXPECT_EQ(ticket->wait(SaveLevel::kCommitted, kSoon).error().kind(), ErrorKind::kIo);
    EXPECT_EQ(settled(saver).missed_saves_in_a_row, step / 10);
  }
  auto progress = saver.poll();
  EXPECT_TRUE(progress.is_newest_save_lost);
  EXPECT_THAT(progress.last_error, HasSubstr("the disk refuses"));
  *refused_ = 0;
  ASSERT_TRUE(save(saver, 30));
  progress = settled(saver);
  EXPECT_EQ(progress.missed_saves_in_a_row, 0u);
  EXPECT_EQ(progress.missed_saves, 2u);
  EXPECT_FALSE(progress.is_newest_save_lost);
  expect_on_disk(30);
}

TEST_P(SaverTest, OneThatDoesNotReadBackCountsAsMissed) {
  std::string spoiled;
  std::vector<Step> left;  // as is told each time
  auto saver = open();
  saver.begin_attempt(
      {.attempt = Attempt(1),
       .rank = Rank(0),
       .world_size = 1,
       .rules = {.last = 2},
       .before_commit =
           [&] {
             if (auto* const bytes = disk_->bytes_of(spoiled)) bytes->back() ^= 1;
           },
       .on_damage = [&](const std::optional<InventoryEntry>& newest) { left.push_back(newest->step); }});
  for (const std::uint64_t step : {10, 20, 30, 40}) {
    if (step > 20) spoiled = "packs/a0001/s00000000" + std::to_string(step) + "/r0000.safetensors";
    ASSERT_TRUE(save(saver, step));
    EXPECT_EQ(settled(saver).missed_saves_in_a_row, step > 20 ? step / 10 - 2 : 0);
    EXPECT_EQ(saver.poll().committed->step, Step(step > 20 ? 20 : step)) << "not one that is bad";
  }
  EXPECT_TRUE(saver.poll().is_newest_save_lost);
  spoiled.clear();
  ASSERT_TRUE(save(saver, 50));
  const auto progress = settled(saver);
  EXPECT_EQ(progress.missed_saves_in_a_row, 0u);
  EXPECT_EQ(progress.missed_saves, 2u);
  ASSERT_EQ(progress.damaged.size(), 2u);
  EXPECT_EQ(progress.damaged[0].step, Step(30));
  EXPECT_EQ(progress.damaged[1].step, Step(40));
  EXPECT_FALSE(progress.damaged[1].is_complete);
  EXPECT_EQ(left, std::vector({Step(20), Step(20)}));
  expect_on_disk(20);
  expect_on_disk(50);
}

TEST_P(SaverTest, ADiskThatHangsIsSeenAndLeftBehind) {
  std::shared_ptr<const std::atomic<bool>> was_abandoned;
  {
    auto saver = open({.slots_max = 1, .disk_timeout = 100ms, .pause = 1ms});
    was_abandoned = saver.was_abandoned();
    gate_->close();
    ASSERT_TRUE(save(saver, 10));
    gate_->await_somebody();  // it hangs before the second one's patience begins
    const auto second = save(saver, 20);
    ASSERT_FALSE(second) << "its slot is with the disk";
    EXPECT_EQ(second.error().kind(), ErrorKind::kTimeout);
    EXPECT_THAT(second.error().message(), HasSubstr("see whether model: answers"));
    const auto progress = saver.poll();
    EXPECT_TRUE(progress.is_stuck);
    EXPECT_EQ(progress.missed_saves_in_a_row, 1u);
    EXPECT_FALSE(saver.wait_until_written(kSoon)) << "it does not wait for what hangs";
    EXPECT_FALSE(was_abandoned->load());
  }
  EXPECT_TRUE(was_abandoned->load()) << "the process must not be torn down around its thread";
  gate_->open();
  test::wait_until_alone(disk_);  // the thread that was left ends by itself
}

TEST_P(SaverTest, WithoutMemoryForASlotItIsWrittenFromWhereItLies) {
  auto saver = open({.budget_bytes = 1000, .pause = 1ms});
  for (const std::uint64_t step : {10, 20}) {
    const auto ticket = save(saver, step);
    ASSERT_TRUE(ticket);
    EXPECT_TRUE(ticket->wait(SaveLevel::kWritten, 0s)) << "before the tensors change";
  }
  const auto progress = settled(saver);
  EXPECT_EQ(progress.committed->step, Step(20));
  EXPECT_THAT(progress.events,
              ElementsAre(AllOf(HasSubstr("does not fit into the 1000 bytes of staging memory"),
                                HasSubstr("training waits for the disk at each save"))))
      << "once";
  for (const std::uint64_t step : {10, 20}) expect_on_disk(step);
  *refused_ = 1;
  const auto refused = save(saver, 30);
  ASSERT_FALSE(refused) << "nothing keeps it for a second try";
  EXPECT_EQ(saver.poll().missed_saves_in_a_row, 1u);
}

TEST_P(SaverTest, WhoWantsNoSlotsIsNotToldThatThereAreNone) {
  auto saver = open({.slots_max = 0, .budget_bytes = 1000});
  ASSERT_TRUE(save(saver, 10));
  EXPECT_THAT(settled(saver).events, testing::IsEmpty());
  expect_on_disk(10);
}

// The tensors belong to the trainer again when the disk returns: the pack that was made of them must not
// count.
TEST_P(SaverTest, AWriteOfWhatTheTrainerTookBackIsNoVote) {
  const std::string kept(100'000, 'k');  // a trainer would change it: here that were a race
  const TensorView views[] = {
      {.name = "weights", .shape = {kept.size()}, .bytes = std::as_bytes(std::span(kept))}};
  {
    auto saver = open({.budget_bytes = 1000, .disk_timeout = 100ms, .pause = 1ms});
    gate_->close();
    const auto ticket = saver.save(Step(10), views);
    ASSERT_FALSE(ticket);
    EXPECT_EQ(ticket.error().kind(), ErrorKind::kTimeout);
    EXPECT_TRUE(saver.poll().must_end_process);
    gate_->open();
    EXPECT_FALSE(save(saver, 20)) << "nor is there a next one";
  }
  test::wait_until_alone(disk_);  // its thread may still be at the disk
  for (const std::string& path : disk_->all_paths()) EXPECT_FALSE(path.starts_with("receipts/a")) << path;
}

TEST_P(SaverTest, AWriterThatEndsIsNotWaitedFor) {
  disk_->set_faults([](DiskCall call, const std::string& path) -> Fault {
    if (call == DiskCall::kSync && path.starts_with("packs/a")) throw std::runtime_error("out of something");
    return {};
  });
  auto saver = open();
  ASSERT_TRUE(save(saver, 10));
  const auto until = std::chrono::steady_clock::now() + kSoon;
  while (!saver.poll().must_end_process && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  EXPECT_TRUE(saver.poll().must_end_process);
  EXPECT_THAT(saver.poll().last_error, HasSubstr("out of something"));
}

TEST_P(SaverTest, ALastSaveThatIsNoPackIsMissed) {
  auto saver = open();
  const TensorView views[] = {{.name = "\xff", .shape = {0}}};
  EXPECT_FALSE(saver.save(Step(10), views));
  EXPECT_TRUE(saver.poll().is_newest_save_lost);
}

TEST_P(SaverTest, WhatIsStagedIsWrittenBeforeItEnds) {
  {
    EXPECT_TRUE(save(*std::make_unique<Saver>(open()), 10));
  }
  expect_on_disk(10);
}

TEST_P(SaverTest, ANewAttemptDropsWhatNobodyWaitsForAnyMore) {
  auto saver = open({.pause = 1ms, .has_writer_thread = false});
  const auto old = save(saver, 10);
  saver.begin_attempt({.attempt = Attempt(2), .rank = Rank(0), .world_size = 1, .rules = {.last = 2}});
  EXPECT_EQ(old->wait(SaveLevel::kWritten, 0s).error().kind(), ErrorKind::kCancelled);
  EXPECT_TRUE(saver.poll().is_committed);
  EXPECT_EQ(saver.poll().committed, std::nullopt);
  EXPECT_FALSE(disk_->bytes_of("packs/a0001/s0000000010/r0000.safetensors"));
  ASSERT_TRUE(save(saver, 12));
  EXPECT_EQ(saver.poll().committed->attempt, Attempt(2));
}

TEST_P(SaverTest, TheSameBytesAgainAreToldOf) {
  auto saver = open({.pause = 1ms, .has_writer_thread = false});
  const TensorView views[] = {
      {.name = "weights", .shape = {weights_.size()}, .bytes = std::as_bytes(std::span(weights_))}};
  for (const std::uint64_t step : {10, 20}) {
    ASSERT_TRUE(save(saver, step));
    EXPECT_EQ(saver.poll().stale_saves, 0u);
  }
  weights_.assign(100'000, static_cast<char>(20));
  const TensorView same[] = {
      {.name = "weights", .shape = {weights_.size()}, .bytes = std::as_bytes(std::span(weights_))}};
  ASSERT_TRUE(saver.save(Step(30), same));
  const auto progress = saver.poll();
  EXPECT_EQ(progress.stale_saves, 1u);
  EXPECT_THAT(progress.events,
              Contains(HasSubstr("the save of step 30 has the same bytes as the save before it")));
  EXPECT_EQ(progress.committed->step, Step(30)) << "it may be right: it is saved";
}

TEST_P(SaverTest, SlotsAreMadeBeforeTheyAreNeeded) {
  auto saver = open({.pause = 1ms, .has_writer_thread = false});
  saver.prepare(200'000);
  EXPECT_TRUE(saver.poll().is_written);
  gate_->close();
  for (const std::uint64_t step : {10, 20}) EXPECT_TRUE(save(saver, step)) << "both slots are there";
  gate_->open();
}

// Threads that query, a thread that saves, a thread that writes: a test for the thread sanitizer.
TEST_P(SaverTest, ManySavesOneAfterTheOther) {
  auto saver = open();
  for (std::uint64_t step = 1; step <= 60; ++step) {
    ASSERT_TRUE(save(saver, step));
    static_cast<void>(saver.poll());
  }
  EXPECT_EQ(settled(saver).committed->step, Step(60));
  for (const std::uint64_t step : {59, 60}) expect_on_disk(step);
}

INSTANTIATE_TEST_SUITE_P(Early, SaverTest, testing::Bool());

}  // namespace
}  // namespace ratoon::checkpoint::saver_test
