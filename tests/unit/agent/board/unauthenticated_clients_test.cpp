// The number, duration and rate of unauthenticated connections.
#include "agent/src/board/unauthenticated_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/board/ip_address.h"

namespace ratoon::board::unauthenticated_clients_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr UnauthenticatedClientLimits kLimits{.connections_max = 4,
                                              .handshake_timeout = 10s,
                                              .eviction_grace = 100ms,
                                              .connections_per_second = 100,
                                              .burst_size = 10,
                                              .resume_connections_min = 5,
                                              .reads_max = 3};

class BoardUnproven : public testing::Test {
 protected:
  // As many connections as allowed, each closed at once.
  int accept_and_close() {
    int count = 0;
    for (; unauthenticated_.may_accept(now_); ++count) {
      static_cast<void>(unauthenticated_.add(++id_, now_));
      unauthenticated_.remove(id_);
    }
    return count;
  }

  Timestamp now_{1000s};
  UnauthenticatedClients unauthenticated_{kLimits, now_};
  UnauthenticatedClients::Id id_ = 0;
};

TEST_F(BoardUnproven, AreFewAndTheOldestGoesForANewOneOnceItHadItsTime) {
  for (UnauthenticatedClients::Id id = 1; id <= 4; ++id) {
    ASSERT_TRUE(unauthenticated_.may_accept(now_));
    EXPECT_EQ(unauthenticated_.add(id, now_), std::nullopt);
  }
  EXPECT_FALSE(unauthenticated_.may_accept(now_));
  EXPECT_EQ(unauthenticated_.may_accept_at(now_), now_ + 100ms);
  EXPECT_FALSE(unauthenticated_.may_accept(now_ + 99ms)) << "a rank may be about to prove itself";
  now_ = now_ + 100ms;
  ASSERT_TRUE(unauthenticated_.may_accept(now_));
  EXPECT_EQ(unauthenticated_.add(5, now_), 1u);
  EXPECT_FALSE(unauthenticated_.contains(1));
  unauthenticated_.mark_authenticated(3);
  ASSERT_TRUE(unauthenticated_.may_accept(now_));
  EXPECT_EQ(unauthenticated_.add(6, now_), std::nullopt) << "there was a place";
}

// For any number of connections from elsewhere, and for any time until the answer.
TEST_F(BoardUnproven, OfAnotherAddressTakeNoPlaceFromARank) {
  static_cast<void>(unauthenticated_.add(++id_, now_, "10.0.0.7"));
  const UnauthenticatedClients::Id rank = id_;
  int gone = 0;
  for (int i = 0; i < 90; ++i) {
    now_ = now_ + 100ms;
    ASSERT_TRUE(unauthenticated_.may_accept(now_)) << i;
    if (const auto leaving = unauthenticated_.add(++id_, now_, "10.0.0.66")) ++gone;
    ASSERT_TRUE(unauthenticated_.contains(rank)) << "after " << i << " strangers";
  }
  EXPECT_EQ(gone, 87) << "of 90, at three places";
  unauthenticated_.mark_authenticated(rank);
  EXPECT_EQ(unauthenticated_.add(++id_, now_, "10.0.0.8"), std::nullopt) << "there is a place again";
}

TEST_F(BoardUnproven, OfManyAddressesWithOneEachTheOldestGoes) {
  for (const char* const from : {"a", "b", "c", "d"})
    static_cast<void>(unauthenticated_.add(++id_, now_, from));
  now_ = now_ + 100ms;
  EXPECT_EQ(unauthenticated_.add(++id_, now_, "e"), 1u);
  EXPECT_EQ(unauthenticated_.add(++id_, now_, "e"), 2u);
  now_ = now_ + 100ms;
  EXPECT_EQ(unauthenticated_.add(++id_, now_, "b"), 5u) << "the older of the two of e";
}

TEST(BoardAddresses, OfOnePeerAreOneNetwork) {
  const auto network = [](const char* text) { return read_ip(text, 7).value().network(); };
  EXPECT_EQ(network("10.0.0.7"), network("::ffff:10.0.0.7"));
  EXPECT_NE(network("10.0.0.7"), network("10.0.0.8"));
  EXPECT_EQ(network("fd00::1:2:3:4:5"), network("fd00:0:0:1::9"));
  EXPECT_NE(network("fd00:0:0:1::9"), network("fd00:0:0:2::9"));
}

TEST_F(BoardUnproven, AreHungUpOnOnceTheirTimeIsOver) {
  static_cast<void>(unauthenticated_.add(1, now_));
  static_cast<void>(unauthenticated_.add(2, now_ + 3s));
  static_cast<void>(unauthenticated_.add(3, now_ + 3s));
  EXPECT_EQ(unauthenticated_.next_deadline(), now_ + 10s);
  EXPECT_THAT(unauthenticated_.find_expired(now_ + 9s), IsEmpty());
  unauthenticated_.mark_authenticated(2);
  EXPECT_THAT(unauthenticated_.find_expired(now_ + 10s), ElementsAre(1));
  EXPECT_THAT(unauthenticated_.find_expired(now_ + 13s), ElementsAre(1, 3)) << "2 is a rank, and stays";
  unauthenticated_.remove(1);
  unauthenticated_.remove(3);
  EXPECT_EQ(unauthenticated_.next_deadline(), std::nullopt);
}

TEST_F(BoardUnproven, AreAcceptedSoManyASecondWhateverComes) {
  EXPECT_EQ(accept_and_close(), 10);
  EXPECT_EQ(unauthenticated_.may_accept_at(now_), now_ + 50ms) << "five at once, for each look costs, too";
  int accepted = 0;
  for (int look = 0; look < 200; ++look) {
    now_ = now_ + 50ms;
    accepted += accept_and_close();
  }
  EXPECT_NEAR(accepted, 1000, 1) << "in ten seconds";
  now_ = now_ + 1h;
  EXPECT_EQ(accept_and_close(), 10) << "a quiet hour is not saved up";
}

TEST_F(BoardUnproven, CostNothingOnceTheyAreRanks) {
  for (UnauthenticatedClients::Id id = 1; id <= 10'000; ++id) {
    ASSERT_TRUE(unauthenticated_.may_accept(now_)) << id;
    static_cast<void>(unauthenticated_.add(id, now_));
    unauthenticated_.mark_authenticated(id);
    unauthenticated_.mark_authenticated(id);  // once is enough
  }
  EXPECT_EQ(accept_and_close(), 10);
}

TEST_F(BoardUnproven, SendInFewParts) {
  static_cast<void>(unauthenticated_.add(1, now_));
  for (int part = 0; part < 3; ++part) EXPECT_TRUE(unauthenticated_.record_read(1));
  EXPECT_FALSE(unauthenticated_.record_read(1));
  static_cast<void>(unauthenticated_.add(2, now_));
  unauthenticated_.mark_authenticated(2);
  for (int part = 0; part < 100; ++part) EXPECT_TRUE(unauthenticated_.record_read(2)) << "a rank may";
}

}  // namespace
}  // namespace ratoon::board::unauthenticated_clients_test
