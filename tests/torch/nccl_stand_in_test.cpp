// The stand-in for NCCL without faults: numbers, orders of calls, and the time at which a call returns.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <future>
#include <random>
#include <type_traits>
#include <vector>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <gtest/gtest.h>

#include "tests/torch/nccl_stand_in_world.h"

namespace ratoon::test::nccl_stand_in_test {
namespace {

constexpr int kRanks = 3;
constexpr std::size_t kCount = 5003;  // no multiple of the ranks

template <typename T>
constexpr bool kIsFloating = std::is_floating_point_v<T> || std::is_class_v<T>;

// Any bits but the bits of NaN, which no type promises.
template <typename T>
std::vector<T> numbers_of(int rank) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 7);
  std::vector<T> numbers(kCount);
  for (T& number : numbers) {
    do {
      const std::uint64_t bits = random();
      std::memcpy(static_cast<void*>(&number), &bits, sizeof number);
    } while (kIsFloating<T> && !std::isfinite(static_cast<double>(number)));
  }
  return numbers;
}

// The loop that the stand-in promises, in the arithmetic of LibTorch's types.
template <typename T>
T sum_of(T a, T b) {
  if constexpr (kIsFloating<T>)
    return static_cast<T>(a + b);
  else
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <typename T>
bool are_same(T a, T b) {
  if constexpr (kIsFloating<T>)
    if (std::isnan(static_cast<double>(a))) return std::isnan(static_cast<double>(b));
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <typename T>
void expect_same(const std::vector<T>& found, const std::vector<T>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t at = 0; at < found.size(); ++at)
    ASSERT_TRUE(are_same(found[at], expected[at]))
        << "number " << at << ": " << static_cast<double>(found[at]) << ", expected "
        << static_cast<double>(expected[at]);
}

template <typename T, typename Step>
std::vector<T> in_rank_order(const Step& step) {
  std::vector<T> result = numbers_of<T>(0);
  for (int rank = 1; rank < kRanks; ++rank) {
    const auto numbers = numbers_of<T>(rank);
    for (std::size_t at = 0; at < kCount; ++at) result[at] = step(result[at], numbers[at]);
  }
  return result;
}

template <typename T>
void check_reductions(RanksHere& ranks, ncclDataType_t type) {
  const auto reduce = [&](ncclRedOp_t op, const std::vector<T>& expected) {
    std::vector<std::vector<T>> given, results(kRanks, std::vector<T>(kCount));
    for (int rank = 0; rank < kRanks; ++rank) given.push_back(numbers_of<T>(rank));
    ranks.on_each([&](int number, Rank& rank) {
      const auto at = static_cast<std::size_t>(number);
      return ncclAllReduce(given[at].data(), results[at].data(), kCount, type, op, rank.communicator,
                           rank.stream.handle());
    });
    ranks.wait_until_idle();
    for (int rank = 0; rank < kRanks; ++rank) {
      SCOPED_TRACE("type " + std::to_string(type) + " operator " + std::to_string(op) + " rank " +
                   std::to_string(rank));
      expect_same(results[static_cast<std::size_t>(rank)], expected);
      expect_same(given[static_cast<std::size_t>(rank)], numbers_of<T>(rank));
    }
  };
  reduce(ncclSum, in_rank_order<T>([](T a, T b) { return sum_of(a, b); }));
  reduce(ncclMin, in_rank_order<T>([](T a, T b) { return b < a ? b : a; }));
  reduce(ncclMax, in_rank_order<T>([](T a, T b) { return b > a ? b : a; }));
}

TEST(NcclStandIn, ReducesEachTypeInRankOrder) {
  RanksHere ranks(kRanks);
  check_reductions<std::int8_t>(ranks, ncclInt8);
  check_reductions<std::uint8_t>(ranks, ncclUint8);
  check_reductions<std::int32_t>(ranks, ncclInt32);
  check_reductions<std::uint32_t>(ranks, ncclUint32);
  check_reductions<std::int64_t>(ranks, ncclInt64);
  check_reductions<std::uint64_t>(ranks, ncclUint64);
  check_reductions<float>(ranks, ncclFloat32);
  check_reductions<double>(ranks, ncclFloat64);
  check_reductions<c10::Half>(ranks, ncclFloat16);
  check_reductions<c10::BFloat16>(ranks, ncclBfloat16);
  ranks.destroy();
}

template <typename T>
void check_weighted_sum(RanksHere& ranks, ncclDataType_t type, ncclScalarResidence_t residence) {
  std::vector<std::vector<T>> numbers;
  std::vector<T> factors;
  std::vector<ncclRedOp_t> ops(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    numbers.push_back(numbers_of<T>(rank));
    factors.push_back(static_cast<T>(0.3F * static_cast<float>(rank + 1)));
  }
  std::vector<T> expected(kCount);
  for (std::size_t at = 0; at < kCount; ++at) {
    expected[at] = static_cast<T>(numbers[0][at] * factors[0]);
    for (std::size_t rank = 1; rank < kRanks; ++rank)
      expected[at] = sum_of(expected[at], static_cast<T>(numbers[rank][at] * factors[rank]));
  }
  const auto given_factors = factors;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    T factor = residence == ncclScalarDevice ? T(0.0F) : factors[rank];
    T* where = residence == ncclScalarDevice ? &factors[rank] : &factor;
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&ops[rank], where, type, residence,
                                       ranks.at(static_cast<int>(rank)).communicator),
              ncclSuccess);
    factor = T(0.0F);  // was read
  }
  ranks.on_each([&](int number, Rank& rank) {
    const auto at = static_cast<std::size_t>(number);
    const ncclResult_t result = ncclAllReduce(numbers[at].data(), numbers[at].data(), kCount, type, ops[at],
                                              rank.communicator, rank.stream.handle());
    EXPECT_EQ(ncclRedOpDestroy(ops[at], rank.communicator), ncclSuccess);
    return result;
  });
  ranks.wait_until_idle();
  for (const auto& result : numbers) expect_same(result, expected);
  EXPECT_EQ(ncclRedOpDestroy(ops[0], ranks.at(0).communicator), ncclInvalidArgument);
}

TEST(NcclStandIn, MultipliesBeforeItSums) {
  RanksHere ranks(kRanks);
  for (const auto residence : {ncclScalarHostImmediate, ncclScalarDevice}) {
    check_weighted_sum<float>(ranks, ncclFloat32, residence);
    check_weighted_sum<double>(ranks, ncclFloat64, residence);
    check_weighted_sum<c10::Half>(ranks, ncclFloat16, residence);
    check_weighted_sum<c10::BFloat16>(ranks, ncclBfloat16, residence);
  }
}

TEST(NcclStandIn, BroadcastsAndGathers) {
  RanksHere ranks(kRanks);
  std::vector<std::vector<float>> given, sent(kRanks, std::vector<float>(kCount)),
      gathered(kRanks, std::vector<float>(kCount * kRanks));
  for (int rank = 0; rank < kRanks; ++rank) given.push_back(numbers_of<float>(rank));
  ranks.on_each([&](int number, Rank& rank) {
    const auto at = static_cast<std::size_t>(number);
    return ncclBroadcast(number == 1 ? given[at].data() : nullptr, sent[at].data(), kCount, ncclFloat32, 1,
                         rank.communicator, rank.stream.handle());
  });
  ranks.on_each([&](int number, Rank& rank) {
    const auto at = static_cast<std::size_t>(number);
    return ncclAllGather(given[at].data(), gathered[at].data(), kCount, ncclFloat32, rank.communicator,
                         rank.stream.handle());
  });
  ranks.wait_until_idle();
  std::vector<float> all;
  for (const auto& one : given) all.insert(all.end(), one.begin(), one.end());
  for (const auto& one : sent) expect_same(one, given[1]);
  for (const auto& one : gathered) expect_same(one, all);
}

TEST(NcclStandIn, DoesTheCallsOfAGroupAtItsEndInTheirOrder) {
  RanksHere ranks(kRanks);
  std::vector<float> numbers{1, 1, 1};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    Rank& one = ranks.at(static_cast<int>(rank));
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ncclRedOp_t doubled{};
    float two = 2;
    ASSERT_EQ(
        ncclRedOpCreatePreMulSum(&doubled, &two, ncclFloat32, ncclScalarHostImmediate, one.communicator),
        ncclSuccess);
    const std::vector<ncclRedOp_t> ops{ncclSum, doubled, ncclMax};
    for (const ncclRedOp_t op : ops)
      EXPECT_EQ(ncclAllReduce(&numbers[rank], &numbers[rank], 1, ncclFloat32, op, one.communicator,
                              one.stream.handle()),
                ncclInProgress);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_TRUE(one.stream.is_idle());
    EXPECT_EQ(state_of(one.communicator), ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  ranks.wait_until_ready();
  ranks.wait_until_idle();
  EXPECT_EQ(numbers, (std::vector<float>{18, 18, 18}));  // (1 + 1 + 1) * 2 * 3
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST(NcclStandIn, ReturnsWhenEnqueuedAndWorksOnTheStream) {
  RanksHere ranks(2);
  std::vector<float> numbers{1, 2};
  ranks.at(0).stream.hold();
  ranks.at(0).stream.enqueue([&] { numbers[0] = 40; });  // earlier work of the stream
  ranks.on_each([&](int number, Rank& rank) {
    float* own = &numbers[static_cast<std::size_t>(number)];
    return ncclAllReduce(own, own, 1, ncclFloat32, ncclSum, rank.communicator, rank.stream.handle());
  });
  EXPECT_FALSE(ranks.at(0).stream.is_idle());
  EXPECT_FALSE(ranks.at(1).stream.is_idle());  // it waits for rank 0
  EXPECT_EQ(numbers[0], 1);
  ranks.at(0).stream.release();
  ranks.wait_until_idle();
  EXPECT_EQ(numbers, (std::vector<float>{42, 42}));
}

TEST(NcclStandIn, KeepsTheOrderOfCallsOnSeveralStreams) {
  RanksHere ranks(2);
  std::vector<OwnStream> other(2);
  std::vector<std::vector<float>> numbers{{1, 10}, {2, 20}};
  other[0].hold();
  for (std::size_t turn = 0; turn < 2; ++turn) {
    ranks.on_each([&](int number, Rank& rank) {
      const auto at = static_cast<std::size_t>(number);
      OwnStream& stream = turn == 0 ? other[at] : rank.stream;
      return ncclAllReduce(&numbers[at][turn], &numbers[at][turn], 1, ncclFloat32, ncclSum, rank.communicator,
                           stream.handle());
    });
  }
  EXPECT_FALSE(ranks.at(0).stream.is_idle());
  other[0].release();
  ranks.wait_until_idle();
  for (OwnStream& stream : other) stream.wait_until_idle();
  EXPECT_EQ(numbers, (std::vector<std::vector<float>>{{3, 30}, {3, 30}}));
}

TEST(NcclStandIn, BlocksWhereItIsAskedTo) {
  const ncclUniqueId id = make_id();
  std::vector<ncclComm_t> communicators(2);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank)
    ASSERT_EQ(ncclCommInitRank(&communicators[static_cast<std::size_t>(rank)], 2, id, rank), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  std::vector<OwnStream> streams(2);
  std::vector<int> numbers{1, 2};
  std::vector<std::future<void>> ends;
  for (std::size_t rank = 0; rank < 2; ++rank)
    ends.push_back(std::async(std::launch::async, [&, rank] {
      EXPECT_EQ(ncclAllReduce(&numbers[rank], &numbers[rank], 1, ncclInt32, ncclSum, communicators[rank],
                              streams[rank].handle()),
                ncclSuccess);
      streams[rank].wait_until_idle();
      EXPECT_EQ(numbers[rank], 3);
      EXPECT_EQ(ncclCommFinalize(communicators[rank]), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(communicators[rank]), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(communicators[rank]), ncclInvalidUsage);
    }));
  for (auto& end : ends) end.get();
}

TEST(NcclStandIn, IsAWorldOfOne) {
  RanksHere ranks(1);
  std::vector<double> given{1, 2, 3}, result(3);
  ranks.on_each([&](int, Rank& rank) {
    return ncclAllReduce(given.data(), result.data(), 3, ncclFloat64, ncclSum, rank.communicator,
                         rank.stream.handle());
  });
  ranks.wait_until_idle();
  EXPECT_EQ(result, given);
  ranks.on_each([](int, Rank& rank) { return ncclCommFinalize(rank.communicator); });
  double* data = result.data();
  EXPECT_EQ(ncclAllReduce(data, data, 3, ncclFloat64, ncclSum, ranks.at(0).communicator,
                          ranks.at(0).stream.handle()),
            ncclInvalidUsage);
  ranks.destroy();
}

TEST(NcclStandIn, SaysWhatItIs) {
  int version = 0;
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  ASSERT_EQ(ratoon_nccl_stand_in_set("VERSION", "22703"), 1);
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 22703);
  ASSERT_EQ(ratoon_nccl_stand_in_set("VERSION", std::to_string(NCCL_VERSION_CODE).c_str()), 1);
  EXPECT_EQ(ratoon_nccl_stand_in_set("VERSION", "new"), 0);
  EXPECT_EQ(ratoon_nccl_stand_in_set("COLOR", "1"), 0);
  EXPECT_STREQ(ncclGetErrorString(ncclInProgress), "NCCL operation in progress");

  RanksHere ranks(2);
  int count = 0, rank = 0, device = -1;
  EXPECT_EQ(ncclCommCount(ranks.at(1).communicator, &count), ncclSuccess);
  EXPECT_EQ(ncclCommUserRank(ranks.at(1).communicator, &rank), ncclSuccess);
  EXPECT_EQ(ncclCommCuDevice(ranks.at(1).communicator, &device), ncclSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(rank, 1);
  EXPECT_EQ(device, 0);
}

TEST(NcclStandIn, RefusesWhatNcclRefuses) {
  ncclUniqueId id = make_id();
  ncclComm_t made = nullptr;
  ncclConfig_t config{};
  EXPECT_EQ(ncclCommInitRank(&made, 2, id, 2), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&made, 0, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(nullptr, 2, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRankConfig(&made, 2, id, 0, &config), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&made, 2, ncclUniqueId{}, 0), ncclInvalidArgument);

  RanksHere ranks(1);
  Rank& rank = ranks.at(0);
  float number = 1;
  const auto reduce = [&](float* into, ncclDataType_t type, int op) {
    return ncclAllReduce(&number, into, 1, type, static_cast<ncclRedOp_t>(op), rank.communicator,
                         rank.stream.handle());
  };
  EXPECT_EQ(reduce(nullptr, ncclFloat32, ncclSum), ncclInvalidArgument);
  EXPECT_EQ(reduce(&number, ncclFloat8e4m3, ncclSum), ncclInvalidArgument);
  EXPECT_EQ(reduce(&number, ncclFloat32, ncclNumOps), ncclInvalidArgument);
  EXPECT_EQ(ncclBroadcast(&number, &number, 1, ncclFloat32, 1, rank.communicator, rank.stream.handle()),
            ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&made, 1, ranks.id, 0), ncclInvalidUsage);  // the id was used
  EXPECT_EQ(state_of(rank.communicator), ncclSuccess);
}

}  // namespace
}  // namespace ratoon::test::nccl_stand_in_test
