// What a process finds out about the ways to its peers, with real sockets on loopback.
#include "agent/src/session/rendezvous/peer_probe.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/rendezvous/rendezvous_socket.h"
#include "tests/support/blocked_listener.h"

namespace ratoon::session::peer_probe_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kPatience = 300ms;
constexpr Duration kLong = 1h;  // no test waits for it

std::vector<std::string> probe(const std::vector<PeerAddress>& peers, Duration patience = kPatience) {
  return probe_peers(peers, patience, {});
}

std::string address_of(const RendezvousSocket& socket) {
  return format_address(socket.at);
}

TEST(ProbePeers, ReachesAProcessThatAcceptsNothingYet) {
  const auto peer = open_rendezvous_socket("");
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_THAT(probe({{"uid-1", address_of(*peer)}}, kLong), IsEmpty());
}

TEST(ProbePeers, NamesThoseThatDoNotAnswerAndNoOther) {
  const auto peer = open_rendezvous_socket("");
  ASSERT_TRUE(peer) << peer.error().message();
  const test::BlockedListener blocked;
  const test::BlockedListener also;
  EXPECT_THAT(
      probe({{"uid-1", blocked.address()}, {"uid-2", address_of(*peer)}, {"uid-3", also.address()}}, 2s),
      ElementsAre("uid-1", "uid-3"));
}

// A firewall may reject instead of dropping.
TEST(ProbePeers, NamesThoseThatRefuse) {
  std::string address;
  {
    const auto closed = open_rendezvous_socket("");
    ASSERT_TRUE(closed) << closed.error().message();
    address = address_of(*closed);
  }
  EXPECT_THAT(probe({{"uid-1", address}}, kLong), ElementsAre("uid-1"));
}

TEST(ProbePeers, SaysNothingAboutAnAddressThatItCannotTry) {
  EXPECT_THAT(probe({{"uid-1", "node-3:29400"}, {"uid-2", "127.0.0.1"}}, kLong), IsEmpty());
}

TEST(ProbePeers, EndsWithoutAResultWhenItIsStopped) {
  const test::BlockedListener blocked;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(probe_peers({{"uid-1", blocked.address()}}, kLong, stop.get_token()), IsEmpty());
}

// Members probe each other for as long as they wait, and most never accept a connection.
TEST(ProbePeers, NeverFillTheQueueOfAPeer) {
  const auto peer = open_rendezvous_socket("");
  ASSERT_TRUE(peer) << peer.error().message();
  const std::vector<PeerAddress> often(kPeersMax, {"uid-1", address_of(*peer)});
  constexpr std::size_t kProbes = 2 * SOMAXCONN;
  for (std::size_t probes = 0; probes < kProbes; probes += often.size())
    ASSERT_THAT(probe(often, 10s), IsEmpty()) << "after " << probes;
}

}  // namespace
}  // namespace ratoon::session::peer_probe_test
