// RankGroups that meet, in threads of one process, and collectives that are given up.
#include "agent/src/torch/collectives/group_connector.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <ATen/ops/full.h>
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <ratoon/failure.h>

#include "agent/src/session/shutdown/process_exit.h"
#include "agent/src/torch/collectives/abandoned_collectives.h"
#include "agent/src/torch/collectives/gloo.h"
#include "base/core/unique_fd.h"

namespace ratoon::group_connector_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using testing::ElementsAre;

struct Place {
  UniqueFd listening{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;

  Place() {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listening.get(), generic, size), 0);
    EXPECT_EQ(::listen(listening.get(), SOMAXCONN), 0);
    EXPECT_EQ(::getsockname(listening.get(), generic, &size), 0);
    port = ntohs(address.sin_port);
  }

  [[nodiscard]] std::shared_ptr<GroupConnector> join(std::uint32_t rank, std::uint32_t world,
                                                     std::string mark, std::uint64_t attempt = 1,
                                                     std::chrono::milliseconds store_timeout = 30s,
                                                     std::chrono::milliseconds connect_timeout = 2min) const {
    return std::make_shared<GroupConnector>(
        GroupConnector::Plan{.rendezvous = {.host = "127.0.0.1",
                                            .port = port,
                                            .listening_fd = rank == 0 ? listening.get() : -1,
                                            .own_host = "127.0.0.1",
                                            .secret = std::string(32, 's')},
                             .attempt = attempt,
                             .rank = rank,
                             .world_size = world,
                             .fingerprint = std::move(mark),
                             .store_timeout = store_timeout,
                             .connect_timeout = connect_timeout});
  }
};

void wait_for(const GroupConnector& meeting) {
  while (!meeting.is_over()) std::this_thread::yield();
}

using Group = c10::intrusive_ptr<c10d::Backend>;

// Two ranks that connected within `limit`; none: the machine was busy for longer.
std::vector<Group> meet_within(const Place& place, std::uint64_t attempt, std::chrono::milliseconds limit) {
  std::vector<Group> groups;
  const std::vector<std::shared_ptr<GroupConnector>> meetings = {
      place.join(0, 2, "same", attempt, limit, limit), place.join(1, 2, "same", attempt, limit, limit)};
  for (const auto& meeting : meetings) {
    wait_for(*meeting);
    if (auto group = meeting->take_group()) groups.push_back(std::move(group));
  }
  return groups.size() == meetings.size() ? groups : std::vector<Group>();
}

std::vector<Group> meet(const Place& place, std::uint32_t world, std::uint64_t attempt) {
  std::vector<std::shared_ptr<GroupConnector>> meetings;
  for (std::uint32_t rank = world; rank-- > 0;) meetings.push_back(place.join(rank, world, "same", attempt));
  std::vector<Group> groups;
  for (const auto& meeting : meetings) {
    wait_for(*meeting);
    EXPECT_EQ(meeting->error(), nullptr);
    groups.push_back(meeting->take_group());
  }
  return groups;
}

at::Tensor number(float value) {
  return at::full({4}, value);
}

// One of two survivors ended by signal 13, once in a hundred kills on a busy machine.
TEST(GroupConnector, APeerThatIsGoneIsNoSignal) {
  const Place place;
  std::signal(SIGPIPE, SIG_DFL);
  static_cast<void>(meet(place, 2, 1));
  EXPECT_EQ(std::signal(SIGPIPE, SIG_DFL), SIG_IGN);

  const auto own = [](int) {};
  std::signal(SIGPIPE, own);
  static_cast<void>(meet(place, 2, 2));
  EXPECT_EQ(std::signal(SIGPIPE, SIG_IGN), static_cast<void (*)(int)>(own));
}

TEST(GroupConnector, ConnectsAllInEveryAttemptOnOneSocket) {
  const Place place;
  for (std::uint64_t attempt = 1; attempt <= 3; ++attempt) {
    auto groups = meet(place, 3, attempt);
    std::vector<at::Tensor> tensors = {number(1), number(2), number(4)};
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::vector<at::Tensor> one{tensors[i]};
      works.push_back(groups[i]->allreduce(one));
    }
    for (const auto& work : works) work->wait();
    for (const at::Tensor& tensor : tensors) EXPECT_TRUE(tensor.equal(number(7)));
  }
}

c10::intrusive_ptr<c10d::Work> begin_sum(const Group& group, const at::Tensor& tensor) {
  std::vector<at::Tensor> one{tensor};
  return group->allreduce(one);
}

// One rank validates alone for longer than connecting may take: the others wait for it.
TEST(GroupConnector, ARankMayBeLaterInACollectiveThanConnectingMayTake) {
  const Place place;
  std::vector<Group> groups;
  std::chrono::milliseconds limit = 500ms;
  for (std::uint64_t attempt = 1; groups.empty(); ++attempt) groups = meet_within(place, attempt, limit *= 2);

  const at::Tensor early = number(1);
  const at::Tensor late = number(2);
  const auto waits = begin_sum(groups[0], early);
  const auto until = steady_clock::now() + 2 * limit;
  while (!waits->isCompleted() && steady_clock::now() < until) std::this_thread::yield();
  EXPECT_FALSE(waits->isCompleted()) << "it gave up";
  const auto comes = begin_sum(groups[1], late);
  waits->wait();
  comes->wait();
  EXPECT_TRUE(early.equal(number(3)));
}

// More collectives than the group has threads: none is left, on this side or at the peer.
TEST(GroupConnector, CollectivesThatWereGivenUpEndHereAndAtPeers) {
  const Place place;
  auto groups = meet(place, 3, 1);
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  for (int i = 0; i < 8; ++i) works.push_back(begin_sum(groups[0], number(1)));
  for (int i = 0; i < 8; ++i) works.push_back(begin_sum(groups[1], number(1)));
  abort_running_collectives(*groups[0]);
  for (const auto& work : works) {
    while (!work->isCompleted()) std::this_thread::yield();
    EXPECT_NE(work->exception(), nullptr);
  }
}

// Ranks that are not neighbours of the lost one in the ring do not notice the loss by themselves, and their
// connections to it are closed already when they give up.
TEST(GroupConnector, CollectivesEndOnAllRanksAfterTheLossOfAnyRank) {
  constexpr std::uint32_t kRanks = 6;
  const Place place;
  for (std::uint32_t lost = 0; lost < kRanks; ++lost) {
    auto groups = meet(place, kRanks, lost + 1);
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      if (rank != lost) works.push_back(begin_sum(groups[rank], at::full({64}, 1.0F)));
    groups[lost].reset();
    const auto has_failed = [](const auto& work) { return work->isCompleted(); };
    while (std::ranges::none_of(works, has_failed)) std::this_thread::yield();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (rank == lost) continue;
      abort_running_collectives(*groups[rank]);
      const auto& work = works[rank - (rank > lost ? 1 : 0)];
      while (!work->isCompleted()) std::this_thread::yield();
    }
  }
}

// Over the group the ranks tell each other the difference.
TEST(GroupConnector, RanksSeeTheMarksOfAll) {
  const Place place;
  const auto first = place.join(0, 2, "these");
  const auto second = place.join(1, 2, "those");
  for (const auto& meeting : {first, second}) {
    wait_for(*meeting);
    EXPECT_EQ(meeting->error(), nullptr);
    EXPECT_THAT(meeting->fingerprints(), ElementsAre("these", "those"));
    EXPECT_TRUE(meeting->take_group());
  }
}

TEST(GroupConnector, OneThatIsGivenUpEndsThoughTheOthersNeverCome) {
  const Place place;
  const auto lonely = place.join(0, 2, "", 1, 1h);
  EXPECT_FALSE(lonely->is_over());
  lonely->give_up();
  wait_for(*lonely);
}

TEST(GroupConnector, OneThatIsGivenUpEndsThoughRank0IsDead) {
  const Place place;  // nobody answers
  const auto lonely = place.join(1, 2, "", 1, 1h);
  lonely->give_up();
  wait_for(*lonely);
}

// Rank 0 has more to load than the other ranks.
TEST(GroupConnector, Rank0MayComeLaterThanTheStoreWouldWait) {
  constexpr auto kStoreTimeout = 5s;
  const Place place;
  const Place deserted;
  const auto second = place.join(1, 2, "same", 1, kStoreTimeout);
  const auto lonely = deserted.join(1, 2, "same", 1, kStoreTimeout);
  const auto late = steady_clock::now() + kStoreTimeout + 500ms;
  while (!second->is_over() && !lonely->is_over() && steady_clock::now() < late) std::this_thread::yield();
  EXPECT_FALSE(second->is_over());
  EXPECT_FALSE(lonely->is_over());

  const auto first = place.join(0, 2, "same", 1, kStoreTimeout);
  for (const auto& meeting : {first, second}) {
    wait_for(*meeting);
    EXPECT_EQ(meeting->error(), nullptr);
    EXPECT_TRUE(meeting->take_group());
  }

  lonely->give_up();
  wait_for(*lonely);
}

TEST(GroupConnector, ARankOfAnOlderAttemptDisturbsNobody) {
  const Place place;
  const auto first = place.join(0, 2, "same", 2);
  const auto late = place.join(1, 2, "other", 1);
  wait_for(*late);
  EXPECT_NE(late->error(), nullptr);
  const auto second = place.join(1, 2, "same", 2);
  for (const auto& meeting : {first, second}) {
    wait_for(*meeting);
    EXPECT_EQ(meeting->error(), nullptr);
    EXPECT_TRUE(meeting->take_group());
  }
}

TEST(Registry, KeepsWhatStillRunsAndLetsGoOfTheRest) {
  bool is_over = false;
  const auto work = std::make_shared<int>(1);
  keep_until_done(work, [&] { return is_over; });
  EXPECT_EQ(release_done_collectives(), 1u);
  EXPECT_EQ(work.use_count(), 2);
  is_over = true;
  EXPECT_EQ(release_done_collectives(), 0u);
  EXPECT_EQ(work.use_count(), 1);
}

TEST(Registry, IsBounded) {
  bool is_over = false;
  const auto fill = [&] {
    for (int i = 0; i < 100; ++i) keep_until_done(std::make_shared<int>(i), [&] { return is_over; });
  };
  EXPECT_THROW(fill(), Failure);
  is_over = true;
  EXPECT_EQ(release_done_collectives(), 0u);
}

// One rank waits in a collective that the other never enters: its thread would delay the end of the process
// for ever.
[[noreturn]] void leave_with_abandoned_work() {
  const Place place;
  auto groups = std::make_shared<std::vector<Group>>(meet(place, 2, 1));
  std::vector<at::Tensor> one{number(1)};
  const auto work = (*groups)[0]->allreduce(one);
  keep_until_done(groups, [work] { return work->isCompleted(); });
  groups.reset();
  std::exit(session::leave(7));
}

TEST(GraveyardDeathTest, TheProcessEndsAtOnceWithItsCode) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(leave_with_abandoned_work(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace ratoon::group_connector_test
