// The members that a process probes while it waits, and its word about those that it cannot reach.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/coordinator/job_session.h"
#include "tests/support/operator_builders.h"

namespace ratoon::coordinator::job_session_peers_test {
namespace {

using test::at_seconds;
using test::process;
using testing::ElementsAre;
using testing::IsEmpty;

class JobSessionPeers : public testing::Test {
 protected:
  // Each of its processes asks for a seat, and all get one.
  void form(std::uint32_t members, std::uint32_t processes_per_node, std::uint64_t attempt = 1) {
    api::Announcement announcement{.attempt = Attempt(attempt), .world = {}, .current = {}};
    for (std::uint32_t i = 0; i < members; ++i) {
      announcement.current.push_back(process(i));
      for (std::uint32_t local = 0; local < processes_per_node; ++local) {
        const auto rank = static_cast<std::uint32_t>(announcement.world.size());
        announcement.world.push_back(
            test::seat(process(i, 0, local), rank, attempt, members * processes_per_node));
        announcement.world.back().address = address_of(i, local);
        session_.record_join(test::join_request(process(i, 0, local)), at_seconds(1));
      }
    }
    session_.announce(announcement);
  }
  static std::string address_of(std::uint32_t member, std::uint32_t local = 0) {
    return "10.0.0." + std::to_string(member) + ":" + std::to_string(40000 + local);
  }
  std::vector<std::string> peers_of(const ProcessIdentity& who) {
    std::vector<std::string> uids;
    const auto seat = session_.take_assignment(who);
    EXPECT_TRUE(seat);
    if (!seat) return uids;
    for (const auto& peer : seat->peers) uids.push_back(peer.member_uid);
    return uids;
  }
  // Returns whether it is news.
  bool beat(std::uint64_t sequence, double at, std::vector<std::string> unreachable,
            std::uint64_t attempt = 1) {
    Heartbeat beat = test::beat(process(0), attempt, 7, sequence);
    beat.unreachable_peers = std::move(unreachable);
    return session_.record_beat(beat, at_seconds(at));
  }
  std::optional<Timestamp> since() const { return session_.processes().front().peers_unreachable_since; }

  JobSession session_;
};

TEST_F(JobSessionPeers, AreTheFirstProcessesOfTheOtherMembers) {
  form(3, 2);
  const auto seat = session_.take_assignment(process(1));
  ASSERT_TRUE(seat);
  EXPECT_THAT(seat->peers, ElementsAre(PeerAddress{.member_uid = test::uid_of(0), .address = address_of(0)},
                                       PeerAddress{.member_uid = test::uid_of(2), .address = address_of(2)}));
  EXPECT_THAT(peers_of(process(1, 0, 1)), IsEmpty()) << "one process of a pod speaks for all";
  EXPECT_THAT(peers_of(process(0)), ElementsAre(test::uid_of(1), test::uid_of(2)));
}

TEST_F(JobSessionPeers, AreBoundedAndIncludeRank0) {
  constexpr std::uint32_t kMembers = 100;
  form(kMembers, 1);
  std::set<std::string> probed;
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    const auto peers = peers_of(process(i));
    EXPECT_EQ(peers.size(), kPeersMax);
    const std::set<std::string> each(peers.begin(), peers.end());
    EXPECT_EQ(each.size(), kPeersMax) << "no member is probed twice";
    EXPECT_FALSE(each.contains(test::uid_of(i)));
    EXPECT_TRUE(i == 0 || each.contains(test::uid_of(0)));
    EXPECT_TRUE(each.contains(test::uid_of((i + 1) % kMembers)));
    probed.insert(each.begin(), each.end());
  }
  EXPECT_EQ(probed.size(), kMembers);
}

TEST_F(JobSessionPeers, NoneIsGivenWithoutAnAddress) {
  session_.record_join(test::join_request(process(0)), at_seconds(1));
  session_.announce({.attempt = Attempt(1),
                     .world = {test::seat(process(0), 0), test::seat(process(1), 1)},
                     .current = {process(0), process(1)}});
  EXPECT_THAT(peers_of(process(0)), IsEmpty());
}

TEST_F(JobSessionPeers, AWordAboutThemIsNewsAndHasTheTimeOfItsBeginning) {
  EXPECT_TRUE(beat(1, 10, {})) << "the first beat";
  EXPECT_FALSE(since());
  EXPECT_TRUE(beat(2, 11, {"uid-1"}));
  EXPECT_EQ(since(), at_seconds(11));
  EXPECT_FALSE(beat(3, 12, {"uid-1"}));
  EXPECT_TRUE(beat(4, 13, {"uid-1", "uid-2"}));
  EXPECT_EQ(since(), at_seconds(11));
  EXPECT_TRUE(beat(5, 14, {}));
  EXPECT_FALSE(since());
  EXPECT_TRUE(beat(6, 15, {"uid-2"}));
  EXPECT_EQ(since(), at_seconds(15));
  EXPECT_TRUE(beat(7, 16, {"uid-2"}, 2));
  EXPECT_EQ(since(), at_seconds(16)) << "it is of another world";
}

TEST_F(JobSessionPeers, EachOfThemIsHeardAgainAfterItIsNamed) {
  const auto added = [this] { return session_.processes().front().new_unreachable_peer_at; };
  beat(1, 10, {});
  beat(2, 11, {"uid-1"});
  EXPECT_EQ(added(), at_seconds(11));
  beat(3, 12, {"uid-2", "uid-1"});
  EXPECT_EQ(added(), at_seconds(12));
  beat(4, 13, {"uid-2"});
  EXPECT_EQ(added(), at_seconds(12)) << "a peer that is reached again";
  beat(5, 14, {"uid-2"}, 2);
  EXPECT_EQ(added(), at_seconds(14)) << "it is of another world";
}

TEST_F(JobSessionPeers, ABeatThatArrivesLateChangesNothing) {
  beat(2, 10, {"uid-1"});
  EXPECT_FALSE(beat(1, 11, {}));
  EXPECT_EQ(since(), at_seconds(10));
}

}  // namespace
}  // namespace ratoon::coordinator::job_session_peers_test
