// Saves of a world of two ranks, of which the test plays the other.
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/saver/saver.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/crash/observed_disk.h"

namespace ratoon::checkpoint::saver_of_two_test {
namespace {

using namespace std::chrono_literals;

class SaverOfTwoTest : public testing::Test {
 protected:
  Saver open_rank(std::uint32_t rank) { return open_rank(rank, disk_); }
  static Saver open_rank(std::uint32_t rank, const std::shared_ptr<Disk>& disk) {
    auto saver =
        Saver::open(disk, "mark", std::make_shared<SystemClock>(), {.pause = 1ms, .has_writer_thread = false})
            .value();
    saver.begin_attempt({.attempt = Attempt(1), .rank = Rank(rank), .world_size = 2, .rules = {.last = 2}});
    return saver;
  }
  static Result<SavePromise> save(Saver& saver, std::uint64_t step) {
    const std::string weights(1000, static_cast<char>(step));
    const TensorView views[] = {
        {.name = "weights", .shape = {weights.size()}, .bytes = std::as_bytes(std::span(weights))}};
    return saver.save(Step(step), views);
  }
  void write_other(std::uint64_t step, std::uint32_t rank) {
    ASSERT_TRUE(other_.write_pack(id(step), Rank(rank), {}));
  }
  static CheckpointId id(std::uint64_t step) { return {.attempt = Attempt(1), .step = Step(step)}; }
  static std::optional<ErrorKind> failure_of(const Result<SavePromise>& ticket) {
    const auto reached = ticket->wait(SaveLevel::kCommitted, 0s);
    return reached ? std::nullopt : std::optional(reached.error().kind());
  }

  const std::shared_ptr<test::ModelDisk> disk_ = std::make_shared<test::ModelDisk>();
  RunStore other_ = RunStore::open(disk_, "other").value();
};

TEST_F(SaverOfTwoTest, OneThatOthersNeverVotedForIsNotCommittedByTheNext) {
  auto saver = open_rank(0);
  const auto passed_over = save(saver, 10);
  const auto committed = save(saver, 20);
  static_cast<void>(saver.poll());
  EXPECT_EQ(failure_of(passed_over), ErrorKind::kTimeout);
  write_other(20, 1);
  EXPECT_EQ(saver.poll().committed->step, Step(20));
  EXPECT_EQ(failure_of(committed), std::nullopt);
  EXPECT_EQ(failure_of(passed_over), ErrorKind::kCancelled);
  EXPECT_FALSE(*other_.find(id(10)));
  EXPECT_TRUE(passed_over->wait(SaveLevel::kWritten, 0s)) << "what was reached stays";
}

// Its last receipt comes between the check for it and the check for the next one.
TEST_F(SaverOfTwoTest, OneThatIsCompleteJustInTimeIsCommittedFirst) {
  bool is_late = false;
  const auto observed = std::make_shared<test::ObservedDisk>(
      disk_, [&](test::DiskCall, const std::string& path, test::Moment moment) {
        const bool is_of_next =
            path.starts_with("receipts/") && path.find("s0000000020") != std::string::npos;
        if (!is_late || !is_of_next || moment != test::Moment::kBefore) return;
        is_late = false;
        write_other(10, 1);
        write_other(20, 1);
      });
  auto saver = open_rank(0, observed);
  const auto first = save(saver, 10);
  const auto second = save(saver, 20);
  static_cast<void>(saver.poll());
  is_late = true;
  EXPECT_EQ(saver.poll().committed->step, Step(20));
  EXPECT_FALSE(is_late);
  EXPECT_EQ(failure_of(first), std::nullopt);
  EXPECT_EQ(failure_of(second), std::nullopt);
  EXPECT_TRUE(*other_.find(id(10)));
}

TEST_F(SaverOfTwoTest, NoReceiptIsReadTwiceWhileTwoWait) {
  std::map<std::string, int> reads;
  const auto observed = std::make_shared<test::ObservedDisk>(
      disk_, [&](test::DiskCall call, const std::string& path, test::Moment moment) {
        const bool is_read = call == test::DiskCall::kRead && moment == test::Moment::kAfter;
        if (is_read && path.starts_with("receipts/")) ++reads[path];
      });
  auto saver = open_rank(0, observed);
  static_cast<void>(save(saver, 10));
  static_cast<void>(save(saver, 20));
  for (int i = 0; i < 3; ++i) static_cast<void>(saver.poll());
  write_other(20, 1);
  EXPECT_EQ(saver.poll().committed->step, Step(20));
  for (const std::uint32_t rank : {0, 1}) EXPECT_EQ(reads[receipt_path(id(20), Rank(rank))], 1) << rank;
}

TEST_F(SaverOfTwoTest, WhoOnlyLooksIsToldWhatIsThereOfEach) {
  auto saver = open_rank(1);
  const auto first = save(saver, 10);
  const auto passed_over = save(saver, 20);
  const auto last = save(saver, 30);
  static_cast<void>(saver.poll());
  for (const std::uint64_t step : {10, 30}) {
    write_other(step, 0);
    const auto committed = other_.try_commit(id(step), 2);
    ASSERT_TRUE(committed && *committed);
  }
  EXPECT_EQ(saver.poll().committed->step, Step(30));
  EXPECT_EQ(failure_of(first), std::nullopt) << "it is there, though a newer one was seen first";
  EXPECT_EQ(failure_of(passed_over), ErrorKind::kCancelled);
  EXPECT_EQ(failure_of(last), std::nullopt);
}

}  // namespace
}  // namespace ratoon::checkpoint::saver_of_two_test
