// Ranks that add up numbers, each in a thread of its own, and ranks that do not call.
#include "agent/src/session/sums/rank_sums.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <mutex>

#include <gmock/gmock.h>
#include <netinet/in.h>

#include <ratoon/failure.h>

#include "agent/src/board/ip_address.h"
#include "tests/support/board_fixture.h"

namespace ratoon::session::rank_sums_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kRanks = 4;

class RankSumsTest : public board::test::BoardPlace {
 protected:
  RankSumsTest() {
    sockaddr_in bound{};
    std::memcpy(&bound, address_.get(), sizeof bound);
    port_ = ntohs(bound.sin_port);
  }
  // The sum of the calls that rank `rank` makes; each call adds the rank's number and 10.
  std::vector<std::int64_t> call(std::uint32_t rank, const std::string& name = "sum()") {
    std::vector<std::int64_t> numbers{rank, 10};
    RankSums& sums = sums_of(rank);
    sums.add_up(name, std::span(numbers));
    return numbers;
  }
  auto start(std::uint32_t rank, const std::string& name = "sum()") {
    return std::async(std::launch::async, [=, this] { return call(rank, name); });
  }
  RankSums& sums_of(std::uint32_t rank) {
    const std::scoped_lock lock(mutex_);
    auto& sums = sums_[rank];
    if (!sums) {
      sums = std::make_unique<RankSums>(
          RankSums::Plan{.rendezvous = {.host = "127.0.0.1",
                                        .port = port_,
                                        .listening_fd = listening_.get(),
                                        .own_host = "127.0.0.1",
                                        .secret = board::test::secret_of(1)},
                         .attempt = 1,
                         .rank = rank,
                         .world_size = kRanks,
                         .look = [this] { note_look(); },
                         .say = [this](const std::string& sentence) { note(sentence); },
                         .steps_done = [] { return 7; },
                         .clock = &clock_,
                         .bytes_of_all_ranks_max = bytes_max_});
    }
    return *sums;
  }
  std::vector<std::string> said() {
    const std::scoped_lock lock(mutex_);
    return said_;
  }
  void note_look() {
    ++looks_;
    looks_.notify_all();
    if (does_time_pass_) clock_.advance(1s);
  }
  void note(const std::string& sentence) {
    const std::scoped_lock lock(mutex_);
    said_.push_back(sentence);
    has_said_.notify_all();
  }
  // Waits until each of these ranks has said that it waits for the ranks `missing`. The clock moves with each
  // look of a waiting rank. A rank that looks before another one has called names that one, too.
  void pass_time_until_named(const std::vector<std::uint32_t>& waiting, const std::string& missing) {
    does_time_pass_ = true;
    const auto has_named = [&](std::uint32_t rank) {
      return std::ranges::any_of(said_, [&](const std::string& sentence) {
        return sentence.starts_with("rank " + std::to_string(rank) + " has waited for ") &&
               sentence.ends_with(" s in sum() at step 7, which " + missing +
                                  " have not called: call the same sums and means on all ranks, in the same "
                                  "step");
      });
    };
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(has_said_.wait_for(lock, 2min, [&] { return std::ranges::all_of(waiting, has_named); }));
    does_time_pass_ = false;
  }
  // Waits until the waiting ranks have looked so many times.
  void wait_for_looks(int count) {
    const int end = looks_ + count;
    for (int now = looks_; now < end; now = looks_) looks_.wait(now);
  }

  ManualClock clock_;
  std::size_t bytes_max_ = std::size_t{64} << 20;
  std::atomic<int> looks_ = 0;
  std::atomic<bool> does_time_pass_ = false;
  std::condition_variable has_said_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::map<std::uint32_t, std::unique_ptr<RankSums>> sums_;  // guarded by mutex_, like said_
  std::vector<std::string> said_;
};

TEST_F(RankSumsTest, AllRanksHaveTheSumsOfEachCall) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::future<std::vector<std::int64_t>>> calls;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) calls.push_back(start(rank));
    for (auto& made : calls) EXPECT_THAT(made.get(), ElementsAre(6, 40));
  }
  EXPECT_THAT(said(), IsEmpty());
}

// In a large world, the numbers of all ranks together would not fit into the store of rank 0.
TEST_F(RankSumsTest, ManyNumbersOfManyRanksAreAddedUpInParts) {
  bytes_max_ = kRanks * sizeof(double);  // one number in each exchange
  std::vector<std::future<std::vector<std::int64_t>>> calls;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) calls.push_back(start(rank));
  for (auto& made : calls) EXPECT_THAT(made.get(), ElementsAre(6, 40));
}

TEST_F(RankSumsTest, RanksThatAddUpInPartsAgreeOnTheNumberOfAllNumbers) {
  bytes_max_ = kRanks * sizeof(double);
  std::vector<std::future<std::string>> calls;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    calls.push_back(std::async(std::launch::async, [this, rank]() -> std::string {
      std::vector<std::int64_t> numbers(rank == 2 ? 3 : 2);
      try {
        sums_of(rank).add_up("sum()", std::span(numbers));
      } catch (const Failure& why) {
        return why.what();
      }
      return "";
    }));
  }
  for (auto& made : calls) EXPECT_THAT(made.get(), HasSubstr("3 numbers"));
}

TEST_F(RankSumsTest, RanksThatDoNotCallAreNamedOnAllThatWait) {
  std::vector<std::future<std::vector<std::int64_t>>> calls;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) calls.push_back(start(rank));
  for (auto& made : calls) made.get();
  calls.clear();
  for (const std::uint32_t rank : {0u, 2u}) calls.push_back(start(rank));
  pass_time_until_named({0, 2}, "ranks 1 and 3");
  for (const std::uint32_t rank : {1u, 3u}) calls.push_back(start(rank));
  for (auto& made : calls) EXPECT_THAT(made.get(), ElementsAre(6, 40));
}

TEST_F(RankSumsTest, RankZeroIsNamedToo) {
  std::vector<std::future<std::vector<std::int64_t>>> calls;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) calls.push_back(start(rank));
  for (auto& made : calls) made.get();
  calls.clear();
  for (const std::uint32_t rank : {1u, 2u}) calls.push_back(start(rank));
  pass_time_until_named({1, 2}, "ranks 0 and 3");
  for (const std::uint32_t rank : {0u, 3u}) calls.push_back(start(rank));
  for (auto& made : calls) EXPECT_THAT(made.get(), ElementsAre(6, 40));
}

TEST_F(RankSumsTest, WithinTenSecondsNothingIsSaid) {
  std::vector<std::future<std::vector<std::int64_t>>> calls;
  for (const std::uint32_t rank : {0u, 1u}) calls.push_back(start(rank));
  wait_for_looks(2);
  clock_.advance(9s);
  wait_for_looks(10);  // both ranks have seen the clock
  for (const std::uint32_t rank : {2u, 3u}) calls.push_back(start(rank));
  for (auto& made : calls) EXPECT_THAT(made.get(), ElementsAre(6, 40));
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(RankSumsTest, OtherCallsAreRefusedOnAllRanks) {
  std::vector<std::future<std::vector<std::int64_t>>> calls;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    calls.push_back(start(rank, rank == 3 ? "mean(\"loss\")" : "sum()"));
  for (auto& made : calls) {
    EXPECT_THAT([&] { made.get(); }, testing::ThrowsMessage<Failure>(
                                         HasSubstr("rank 0 called sum() and rank 3 called mean(\"loss\")")));
  }
}

}  // namespace
}  // namespace ratoon::session::rank_sums_test
