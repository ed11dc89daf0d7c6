// The stand-in for NCCL when ranks are lost, and when communicators are aborted.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <future>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/torch/nccl_stand_in_world.h"

namespace ratoon::test::nccl_stand_in_test {
namespace {

using testing::HasSubstr;

using Numbers = std::vector<std::vector<float>>;

ncclResult_t sum(Numbers& numbers, int number, Rank& rank) {
  auto& own = numbers[static_cast<std::size_t>(number)];
  return ncclAllReduce(own.data(), own.data(), own.size(), ncclFloat32, ncclSum, rank.communicator,
                       rank.stream.handle());
}

// A process that acts as a rank. Once it is connected it makes no call, or begins one sum.
class OtherProcess {
 public:
  OtherProcess(const ncclUniqueId& id, int size, int rank, bool sums = false) : process_(::fork()) {
    if (process_ != 0) return;
    Rank own{.communicator = begin_rank(id, size, rank)};
    wait_until_ready(own.communicator);
    Numbers numbers{{5, 6}};
    if (sums) static_cast<void>(sum(numbers, 0, own));
    while (true) ::pause();
  }
  ~OtherProcess() { kill(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  void kill() {
    if (process_ <= 0) return;
    EXPECT_EQ(::kill(process_, SIGKILL), 0);
    EXPECT_EQ(::waitpid(process_, nullptr, 0), process_);
    process_ = 0;
  }

 private:
  pid_t process_;
};

// The ranks 0 and 1 sum here; rank 2 is a process that is killed during the sum.
class NcclStandInLosesARank : public testing::Test {
 protected:
  NcclStandInLosesARank() {
    ranks_.wait_until_ready();
    ranks_.on_each([&](int number, Rank& rank) { return sum(numbers_, number, rank); });
  }

  const Numbers given_{{1, 2}, {3, 4}};
  Numbers numbers_ = given_;
  RanksHere ranks_{2, 3};
  OtherProcess other_{ranks_.id, 3, 2};
};

TEST_F(NcclStandInLosesARank, HangsWithoutAnErrorUntilItIsAborted) {
  other_.kill();
  wait_until(
      [] { return std::string(ncclGetLastError(nullptr)).find("rank 2 closed") != std::string::npos; });
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(state_of(ranks_.at(rank).communicator), ncclSuccess);
    EXPECT_FALSE(ranks_.at(rank).stream.is_idle());
  }
  EXPECT_EQ(numbers_, given_);
  ranks_.abort();
  ranks_.wait_until_idle();  // the streams go on
  for (std::size_t rank = 0; rank < 2; ++rank) EXPECT_NE(numbers_[rank], given_[rank]);
  EXPECT_EQ(numbers_[0], numbers_[1]);  // garbage of one seed
}

TEST_F(NcclStandInLosesARank, ReportsItOnlyWhereItIsAskedAndHangsOn) {
  const StandInSetting reports("REPORTS_LOST_RANKS", "1");
  const StandInSetting nan("GARBAGE_IS_NAN", "1");
  other_.kill();
  for (int rank = 0; rank < 2; ++rank) {
    Rank& one = ranks_.at(rank);
    wait_until([&] { return state_of(one.communicator) != ncclSuccess; });
    EXPECT_EQ(state_of(one.communicator), ncclRemoteError);
    EXPECT_EQ(sum(numbers_, rank, one), ncclRemoteError);
    EXPECT_FALSE(one.stream.is_idle());
  }
  EXPECT_EQ(numbers_, given_);
  ranks_.abort();
  ranks_.wait_until_idle();
  for (const auto& numbers : numbers_)
    for (const float number : numbers) EXPECT_TRUE(std::isnan(number));
}

TEST_F(NcclStandInLosesARank, GivesTheGarbageOfItsSeed) {
  const auto garbage_of = [](const char* seed) {
    EXPECT_EQ(ratoon_nccl_stand_in_set("GARBAGE_SEED", seed), 1);
    Numbers numbers{{1, 2}};
    RanksHere ranks(1, 2);
    OtherProcess other(ranks.id, 2, 1);
    ranks.wait_until_ready();
    ranks.on_each([&](int number, Rank& rank) { return sum(numbers, number, rank); });
    ranks.abort();
    ranks.wait_until_idle();
    return numbers[0];
  };
  const auto one = garbage_of("5");
  const auto other = garbage_of("6");
  EXPECT_EQ(garbage_of("5"), one);
  EXPECT_NE(one, other);
  EXPECT_EQ(ratoon_nccl_stand_in_set("GARBAGE_SEED", "1"), 1);
}

TEST(NcclStandInFaults, AbortsOneRankAndLeavesTheOthersToHang) {
  Numbers numbers{{1}, {2}, {3}};
  RanksHere ranks(3);
  ranks.at(0).stream.hold();
  ranks.on_each([&](int number, Rank& rank) { return sum(numbers, number, rank); });
  EXPECT_EQ(ncclCommAbort(std::exchange(ranks.at(0).communicator, nullptr)), ncclSuccess);
  ranks.at(0).stream.release();
  ranks.at(0).stream.wait_until_idle();
  wait_until(
      [] { return std::string(ncclGetLastError(nullptr)).find("rank 0 closed") != std::string::npos; });
  for (int rank = 1; rank < 3; ++rank) EXPECT_FALSE(ranks.at(rank).stream.is_idle());
  ranks.abort();
  ranks.wait_until_idle();
}

TEST(NcclStandInFaults, ReportsARankThatIsLostWhileAnotherIsLate) {
  const StandInSetting reports("REPORTS_LOST_RANKS", "1");
  Numbers numbers{{1, 2}, {3, 4}};
  RanksHere ranks(2, 3);
  OtherProcess other(ranks.id, 3, 2, true);
  ranks.wait_until_ready();
  ranks.at(0).stream.hold();
  ranks.on_each([&](int number, Rank& rank) { return sum(numbers, number, rank); });
  other.kill();
  wait_until([&] { return state_of(ranks.at(1).communicator) != ncclSuccess; });
  EXPECT_EQ(state_of(ranks.at(1).communicator), ncclRemoteError);
  EXPECT_EQ(state_of(ranks.at(0).communicator), ncclSuccess);
}

TEST(NcclStandInFaults, AbortsSlowly) {
  const StandInSetting slow("ABORT_MS", "200");
  RanksHere ranks(1, 2);
  const auto begin = std::chrono::steady_clock::now();
  ranks.abort();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
}

TEST(NcclStandInFaults, NeverEndsAnAbortWhereItIsTold) {
  StandInSetting hangs("ABORT_HANGS", "1");
  Numbers numbers{{1}};
  RanksHere ranks(1, 2);
  OtherProcess other(ranks.id, 2, 1);
  ranks.wait_until_ready();
  ranks.on_each([&](int number, Rank& rank) { return sum(numbers, number, rank); });
  auto abort = std::async(std::launch::async, [&] { ranks.abort(); });
  EXPECT_EQ(abort.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_FALSE(ranks.at(0).stream.is_idle());
  hangs.clear();
  abort.get();
  ranks.wait_until_idle();
}

TEST(NcclStandInFaults, ConnectsForeverWithoutARankAndCanBeAborted) {
  for (const int rank : {0, 1}) {
    const ncclUniqueId id = make_id();
    const ncclComm_t communicator = begin_rank(id, 3, rank);
    int count = 0;
    float number = 1;
    OwnStream stream;
    EXPECT_EQ(state_of(communicator), ncclInProgress);
    EXPECT_EQ(ncclCommCount(communicator, &count), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(&number, &number, 1, ncclFloat32, ncclSum, communicator, stream.handle()),
              ncclInvalidArgument);
    EXPECT_EQ(ncclCommAbort(communicator), ncclSuccess);

    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(communicator, &state), ncclInvalidUsage);
    EXPECT_EQ(ncclAllReduce(&number, &number, 1, ncclFloat32, ncclSum, communicator, stream.handle()),
              ncclInvalidUsage);
    EXPECT_EQ(ncclCommFinalize(communicator), ncclInvalidUsage);
    EXPECT_EQ(ncclCommDestroy(communicator), ncclInvalidUsage);
    EXPECT_EQ(ncclCommAbort(communicator), ncclInvalidUsage);
  }
}

TEST(NcclStandInFaults, DestroysWhenAllIsDone) {
  Numbers numbers{{1}, {2}};
  RanksHere ranks(2);
  ranks.at(0).stream.hold();
  ranks.on_each([&](int number, Rank& rank) { return sum(numbers, number, rank); });
  auto destroy = std::async(std::launch::async, [&] { ranks.destroy(); });
  EXPECT_EQ(destroy.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  ranks.at(0).stream.release();
  destroy.get();
  ranks.wait_until_idle();
  EXPECT_EQ(numbers, (Numbers{{3}, {3}}));
}

TEST(NcclStandInFaults, EndsADestroyByAnAbort) {
  RanksHere ranks(1, 2);
  const ncclComm_t communicator = ranks.at(0).communicator;
  auto destroy = std::async(std::launch::async, ncclCommDestroy, communicator);
  EXPECT_EQ(destroy.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  ranks.abort();
  EXPECT_EQ(destroy.get(), ncclInvalidUsage);
}

TEST(NcclStandInFaults, WritesGarbageLaterWhereTheStreamIsLate) {
  Numbers numbers{{1}, {2}};
  RanksHere ranks(2);
  bool has_gone_on = false;
  ranks.at(0).stream.hold();
  ranks.on_each([&](int number, Rank& rank) { return sum(numbers, number, rank); });
  ranks.at(0).stream.enqueue([&] { has_gone_on = true; });
  ranks.abort();
  EXPECT_EQ(numbers[0], (std::vector<float>{1}));
  ranks.at(0).stream.release();
  ranks.wait_until_idle();
  EXPECT_TRUE(has_gone_on);
  EXPECT_NE(numbers[0], (std::vector<float>{1}));
  EXPECT_NE(numbers[0], (std::vector<float>{3}));
}

TEST(NcclStandInFaults, HangsWhereRanksCallDifferentCollectives) {
  Numbers numbers{{1, 1}, {2}};
  RanksHere ranks(2);
  ranks.on_each([&](int number, Rank& rank) { return sum(numbers, number, rank); });
  wait_until([] { return std::string(ncclGetLastError(nullptr)).find("another call") != std::string::npos; });
  EXPECT_FALSE(ranks.at(0).stream.is_idle());
  EXPECT_EQ(state_of(ranks.at(0).communicator), ncclSuccess);
}

TEST(NcclStandInFaults, RefusesSharedDevicesOnlyWhereItIsAsked) {
  const RanksHere allowed(2);
  const StandInSetting refuses("REFUSES_SHARED_DEVICES", "1");
  const ncclUniqueId id = make_id();
  for (const ncclComm_t communicator : {begin_rank(id, 2, 0), begin_rank(id, 2, 1)}) {
    wait_until_ready(communicator);
    EXPECT_EQ(state_of(communicator), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(communicator), HasSubstr("one device"));
    EXPECT_EQ(ncclCommAbort(communicator), ncclSuccess);
  }
}

TEST(NcclStandInFaults, RefusesAWorldOfTwoSizes) {
  const ncclUniqueId id = make_id();
  const ncclComm_t first = begin_rank(id, 2, 0);
  const ncclComm_t second = begin_rank(id, 3, 1);
  wait_until_ready(first);
  EXPECT_EQ(state_of(first), ncclInvalidUsage);
  EXPECT_EQ(ncclCommAbort(first), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(second), ncclSuccess);
}

std::ptrdiff_t entries_of(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(NcclStandInFaults, KeepsNothingOf200Communicators) {
  const auto use_ten = [](bool ends_well) {
    for (int turn = 0; turn < 5; ++turn) {
      Numbers numbers{{1}, {2}};
      RanksHere ranks(2);
      ranks.on_each([&](int number, Rank& rank) { return sum(numbers, number, rank); });
      if (ends_well) ranks.destroy();
    }
  };
  use_ten(true);
  const auto descriptors = entries_of("/proc/self/fd");
  const auto threads = entries_of("/proc/self/task");
  for (int ten = 0; ten < 20; ++ten) use_ten(ten % 2 == 0);
  EXPECT_EQ(entries_of("/proc/self/fd"), descriptors);
  wait_until([&] { return entries_of("/proc/self/task") <= threads; });  // a joined thread may be listed yet
}

}  // namespace
}  // namespace ratoon::test::nccl_stand_in_test
