// A process dies at every call that it makes to the disk; the next process in its place finds the slots and
// goes on.
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/src/checkpoint/commit/rollback_files.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/saver/saver.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/crash/wait_until_alone.h"
#include "tests/support/held_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/agent/checkpoint/staging/gate.h"

namespace ratoon::checkpoint::adoption_test {
namespace {

constexpr int kDied = 9;

// Each call to the disk is watched, and a watch reads the clock: the process ends at this point, without a
// message.
class DeadlyClock final : public Clock {
 public:
  explicit DeadlyClock(int looks) : left_(looks) {}
  Timestamp now() const override {
    if (left_-- == 0) ::_exit(kDied);
    return SystemClock().now();
  }
  WallTime wall_now() const override { return SystemClock().wall_now(); }

 private:
  mutable int left_;
};

class AdoptionTest : public testing::Test {
 protected:
  Saver open(std::shared_ptr<const Clock> clock) {
    return Saver::open(RealDisk::open_folder(folder_ / "run").value(), "mark" + std::to_string(::getpid()),
                       std::move(clock),
                       {.slots_folder = folder_.path(),
                        .slot_file_prefix = "slots",
                        .location_hash = home_,
                        .has_writer_thread = false})
        .value();
  }
  static std::string weights_at(std::uint64_t step) {
    return std::string(50'000, static_cast<char>('a' + step));
  }
  static void save(Saver& saver, std::uint64_t step, const std::optional<RunRecord>& run = {}) {
    const std::string weights = weights_at(step);
    const TensorView views[] = {
        {.name = "weights", .shape = {weights.size()}, .bytes = std::as_bytes(std::span(weights))}};
    if (!saver.save(Step(step), views, run)) ::_exit(1);
  }
  // A life in a process of its own; returns its exit code.
  int live(const std::function<void()>& life) {
    const pid_t child = ::fork();
    if (child == 0) {
      life();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  }
  std::vector<std::uint64_t> committed() {
    const auto store = RunStore::open(folder_ / "run").value();
    std::vector<std::uint64_t> steps;
    const auto inventory = store.inventory().value();
    for (const InventoryEntry& entry : inventory.complete) {
      const auto loaded =
          store.load({.attempt = entry.attempt, .step = entry.step, .digest = entry.digest}, Rank(0));
      EXPECT_TRUE(loaded) << loaded.error().message();
      EXPECT_EQ(loaded ? loaded->at("weights").bytes : "", weights_at(entry.step.value()));
      steps.push_back(entry.step.value());
    }
    return steps;
  }
  bool has_slots() {
    for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
      if (file.path().extension() == ".slot") return true;
    return false;
  }
  static constexpr std::uint64_t kAttempt = 3;
  static SaveContext world() {
    return {.attempt = Attempt(kAttempt), .rank = Rank(0), .world_size = 1, .rules = {.last = 9}};
  }

  // A killed process loses none of its writes, synced or not, so no sync is needed.
  static std::filesystem::path in_memory() {
    return std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
  }
  test::TemporaryFolder folder_{in_memory()};
  std::uint64_t home_ = 1;
};

TEST_F(AdoptionTest, ASlotThatAnotherHoldsIsPassedOver) {
  const auto held = Slab::open(folder_ / "slots-0.slot", home_).value();
  auto saver = open(std::make_shared<SystemClock>());
  saver.begin_attempt(world());
  save(saver, 1);
  EXPECT_TRUE(saver.poll().is_committed);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "slots-1.slot")) << "it was written from where it lies";
}

// Before training begins: a start that hangs with its disk ends with a sentence, too.
TEST_F(AdoptionTest, ADiskThatHangsWhileItLooksIsAnErrorAfterItsPatience) {
  const auto gate = std::make_shared<test::Gate>();
  const auto clock = std::make_shared<ManualClock>();
  auto calls = std::make_shared<CallsWithTimeout>(std::chrono::hours(1), clock);
  const auto disk = std::make_shared<test::ModelDisk>();
  gate->close();
  disk->set_faults([gate](test::DiskCall call, const std::string&) {
    if (call == test::DiskCall::kList) gate->pass();
    return test::Fault{};
  });
  {
    const std::jthread later([&] {
      gate->await_somebody();
      clock->advance(std::chrono::hours(2));
    });
    const auto saver = Saver::open(disk, "mark", clock,
                                   {.slots_folder = folder_.path(),
                                    .slot_file_prefix = "slots",
                                    .has_writer_thread = false,
                                    .calls = calls});
    ASSERT_FALSE(saver);
    EXPECT_EQ(saver.error().kind(), ErrorKind::kTimeout);
    EXPECT_THAT(saver.error().message(),
                testing::HasSubstr("the disk has not answered for 3600 s (--disk-timeout)"));
    EXPECT_TRUE(calls->was_abandoned()->load());
  }
  gate->open();
  calls = nullptr;
  test::wait_until_alone(disk);
}

// A staging folder that hangs once training has begun, in a call of the trainer or of the writer.
class HangingSlotsTest : public AdoptionTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Has, HangingSlotsTest, testing::Values(false, true),
                         [](const auto& thread) { return thread.param ? "Thread" : "NoThread"; });

TEST_P(HangingSlotsTest, IsSaidAndNotWaitedFor) {
  const auto clock = std::make_shared<ManualClock>();
  const auto calls = std::make_shared<CallsWithTimeout>(std::chrono::hours(1), clock);
  test::HeldFile slot(folder_ / "held");
  auto saver = Saver::open(std::make_shared<test::ModelDisk>(), "mark", clock,
                           {.slots_folder = folder_.path(),
                            .slot_file_prefix = "slots",
                            .has_writer_thread = GetParam(),
                            .calls = calls});
  ASSERT_TRUE(saver);
  saver->begin_attempt(world());
  std::filesystem::rename(folder_ / "held", folder_ / "slots-0.slot");
  const std::jthread later([&] {
    slot.await_somebody();
    clock->advance(std::chrono::hours(2));
  });
  if (GetParam()) {
    saver->prepare(50'000);
    // A caller that queries the state does not hang with it.
    while (!saver->poll().must_end_process) std::this_thread::yield();
  } else {
    const std::string weights = weights_at(1);
    const TensorView views[] = {
        {.name = "weights", .shape = {weights.size()}, .bytes = std::as_bytes(std::span(weights))}};
    const auto ticket = saver->save(Step(1), views);
    ASSERT_FALSE(ticket);
    EXPECT_EQ(ticket.error().kind(), ErrorKind::kTimeout);
  }
  const auto progress = saver->poll();
  EXPECT_TRUE(progress.must_end_process);
  EXPECT_EQ(progress.last_error, "opening staged memory at " + (folder_ / "slots-0.slot").string() +
                                     ": the disk has not answered for 3600 s (--disk-timeout); check whether "
                                     "it answers other programs, repair or mount it, and start again");
  EXPECT_TRUE(calls->was_abandoned()->load());
}

TEST_F(AdoptionTest, WhatIsToBeKeptIsPinnedByWhoeverCommitsIt) {
  ASSERT_EQ(live([&] {
              auto saver = open(std::make_shared<SystemClock>());
              saver.begin_attempt(world());
              save(saver, 1, RunRecord{.keep = "the lowest loss"});
              ::_exit(0);
            }),
            0);
  auto saver = open(std::make_shared<SystemClock>());
  static_cast<void>(saver.poll());
  EXPECT_THAT(committed(), testing::ElementsAre(1));
  EXPECT_EQ(test::read_text(folder_ / "run" / "pins" / "s0000000001.a0003.json"), "the lowest loss\n");
}

TEST_F(AdoptionTest, TheCommittedRecordHasTheListsOfSaveBest) {
  const CheckpointId staged{.attempt = Attempt(kAttempt), .step = Step(1)};
  const RunRecord run{.batches = 1,
                      .best = {{.name = "loss", .keep = 2, .kept = {{.id = staged, .value = 0.25}}}}};
  ASSERT_EQ(live([&] {
              auto saver = open(std::make_shared<SystemClock>());
              saver.begin_attempt(world());
              save(saver, 1, run);
              ::_exit(0);
            }),
            0);
  auto saver = open(std::make_shared<SystemClock>());
  static_cast<void>(saver.poll());
  ASSERT_THAT(committed(), testing::ElementsAre(1));
  EXPECT_EQ(decode_manifest(test::read_text(folder_ / "run" / manifest_path(staged))).value().run, run);
}

TEST_F(AdoptionTest, WhatWasStagedIsCommittedWhereverItsProcessDied) {
  int deaths = 0;
  for (int looks = 0;; ++looks) {
    std::filesystem::remove_all(folder_ / "run");
    const int code = live([&] {
      auto saver = open(std::make_shared<DeadlyClock>(1000));
      saver.begin_attempt(world());
      save(saver, 1);
      save(saver, 2);
      ::_exit(0);
    });
    ASSERT_EQ(code, 0);
    ASSERT_TRUE(committed().empty());
    const int second = live([&] {
      auto saver = open(std::make_shared<DeadlyClock>(looks));
      static_cast<void>(saver.poll());
    });
    if (second == 0) break;
    ASSERT_EQ(second, kDied);
    ++deaths;
    {
      auto saver = open(std::make_shared<SystemClock>());
      EXPECT_TRUE(saver.wait_until_written(std::chrono::seconds(20)));
    }
    EXPECT_THAT(committed(), testing::ElementsAre(2, 1)) << "death " << looks;
    EXPECT_FALSE(has_slots()) << "and the memory is given back";
  }
  EXPECT_GT(deaths, 20);
  std::printf("died at %d places\n", deaths);
}

// A person removed the run and began another one at the same path.
TEST_F(AdoptionTest, WhatWasStagedForAnotherFolderIsNobodys) {
  live([&] {
    auto saver = open(std::make_shared<SystemClock>());
    saver.begin_attempt(world());
    save(saver, 5);
    ::_exit(0);
  });
  ASSERT_TRUE(has_slots());
  std::filesystem::remove_all(folder_ / "run");
  home_ = 2;
  {
    auto saver = open(std::make_shared<SystemClock>());
    EXPECT_TRUE(saver.wait_until_written(std::chrono::seconds(20)));
    saver.begin_attempt(world());
    save(saver, 1);
    EXPECT_TRUE(saver.wait_until_written(std::chrono::seconds(20)));
  }
  EXPECT_THAT(committed(), testing::ElementsAre(1));
  EXPECT_FALSE(has_slots()) << "its memory was used again, and given back";
}

TEST_F(AdoptionTest, WhatIsOlderThanACommitIsReusedAndNotWritten) {
  live([&] {
    auto saver = open(std::make_shared<SystemClock>());
    saver.begin_attempt(world());
    save(saver, 5);
    ::_exit(0);
  });
  {
    auto disk = RealDisk::open_folder(folder_ / "run").value();
    auto saver =
        Saver::open(std::move(disk), "other", std::make_shared<SystemClock>(), {.has_writer_thread = false})
            .value();
    saver.begin_attempt(
        {.attempt = Attempt(kAttempt + 1), .rank = Rank(0), .world_size = 1, .rules = {.last = 9}});
    save(saver, 4);
  }
  auto saver = open(std::make_shared<SystemClock>());
  EXPECT_TRUE(saver.wait_until_written(std::chrono::seconds(20)));
  EXPECT_THAT(committed(), testing::ElementsAre(4)) << "the world went another way since";
  saver.begin_attempt(
      {.attempt = Attempt(kAttempt + 2), .rank = Rank(0), .world_size = 1, .rules = {.last = 9}});
  save(saver, 6);
  EXPECT_EQ(saver.poll().committed->step, Step(6));
}

TEST_F(AdoptionTest, WhatARollbackGaveUpIsNotWritten) {
  live([&] {
    auto saver = open(std::make_shared<SystemClock>());
    saver.begin_attempt(world());
    save(saver, 4);
    static_cast<void>(saver.wait_until_written(std::chrono::seconds(20)));
    save(saver, 5);
    ::_exit(0);
  });
  const auto disk = RealDisk::open_folder(folder_ / "run").value();
  const CheckpointId before{.attempt = Attempt(kAttempt), .step = Step(4)};
  ASSERT_TRUE(record_rollback(*disk, {.attempt = Attempt(kAttempt + 1), .to = before}, "mark"));
  auto saver = open(std::make_shared<SystemClock>());
  EXPECT_TRUE(saver.wait_until_written(std::chrono::seconds(20)));
  EXPECT_THAT(committed(), testing::ElementsAre(4));
  const CheckpointId staged{.attempt = Attempt(kAttempt), .step = Step(5)};
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run" / manifest_path(staged)));
}

TEST_F(AdoptionTest, ACopyThatWasNotFinishedIsNone) {
  live([&] {
    auto saver = open(std::make_shared<SystemClock>());
    saver.begin_attempt(world());
    save(saver, 5);
    ::_exit(0);
  });
  {
    auto slab = Slab::open(folder_ / "slots-0.slot", home_).value();
    SlotInfo info = *slab.read_info();
    EXPECT_EQ(info.state, SlotState::kStaged);
    info.state = SlotState::kFilling;
    slab.write_info(info);
  }
  auto saver = open(std::make_shared<SystemClock>());
  EXPECT_TRUE(saver.wait_until_written(std::chrono::seconds(20)));
  EXPECT_TRUE(committed().empty());
}

TEST_F(AdoptionTest, AFileOfOurNameThatHoldsNothingIsMadeASlot) {
  test::write_text(folder_ / "slots-0.slot", std::string(kSlotInfoBytesMax + 9000, 'x'));
  {
    auto saver = open(std::make_shared<SystemClock>());
    saver.begin_attempt(world());
    save(saver, 5);
    EXPECT_EQ(saver.poll().committed->step, Step(5)) << "its memory is used: the name is ours";
  }
  EXPECT_THAT(committed(), testing::ElementsAre(5));
}

}  // namespace
}  // namespace ratoon::checkpoint::adoption_test
