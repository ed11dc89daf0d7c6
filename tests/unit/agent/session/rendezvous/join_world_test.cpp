// The request of a process for a seat, its checks before it asks again, and the facts that it needs once
// seated.
#include "agent/src/session/rendezvous/join_world.h"

#include <fstream>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>

#include "agent/src/checkpoint/commit/rollback_files.h"
#include "agent/src/session/locations/checkpoint_locations.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/engine_rank.h"
#include "tests/support/quiet_link.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session::join_world_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class AskedLink final : public test::QuietLink {
 public:
  void begin_listing() override { ++listings; }
  Result<Assignment> join(const std::vector<InventoryEntry>&, Attempt) override { return on_join(++joins); }
  WorldStatus world_status() const override { return stands; }

  std::function<Result<Assignment>(int join)> on_join;
  WorldStatus stands = WorldStatus::kGoOn;
  int joins = 0;
  int listings = 0;
};

class JoiningTest : public testing::Test {
 protected:
  // Two checkpoints, of steps 10 and 20.
  void train() {
    test::TestRank rank(folder_.path(), 0, 1);
    rank.begin(20);
    rank.steps(20);
    rank.engine().finish();
  }
  int code_of(Link& link, CheckpointLocations& places, const ListingFunctions& looking) {
    try {
      static_cast<void>(join_world(link, places, {}, looking));
    } catch (const Failure& why) {
      said_ = why.what();
      return why.exit_code;
    }
    return 0;
  }
  ListingFunctions looking(std::function<Result<checkpoint::Inventory>()> look) {
    return {.look = std::move(look), .pause = [this](Duration time) { pauses_.push_back(time); }};
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = folder_.path().string(), .run_name = "", .member = {}};
  metrics::Meters meters_;
  AskedLink link_;
  std::string said_;
  std::vector<Duration> pauses_;
};

// As if a world makes the rollback while this process waits for a seat, and then grows.
TEST_F(JoiningTest, ARollbackThatWasMadeWhileItWaitedIsMadeForIt) {
  train();
  options_.resume_from = 10;
  CheckpointLocations places(options_, test::borrowed(meters_));
  link_.on_join = [&](int) -> Result<Assignment> {
    EXPECT_TRUE(places.rollback().to) << "no attempt has made it yet";
    const checkpoint::Rollback made{.attempt = Attempt(8), .to = *places.rollback().to};
    EXPECT_TRUE(checkpoint::record_rollback(*places.home(), made, random_hex_name()));
    return Assignment{.attempt = Attempt(9)};
  };
  EXPECT_EQ(join_world(link_, places, {}).attempt, Attempt(9));
  EXPECT_FALSE(places.rollback().to) << "it would refuse what the world resumes: 83";
  ASSERT_TRUE(places.rollback().existing_rollback);
  EXPECT_EQ(places.rollback().existing_rollback->attempt, Attempt(8));
  EXPECT_EQ(places.rollback().earlier_rollbacks.size(), 1u);
}

TEST_F(JoiningTest, AJobThatIsOverWhileOneJoinsEndsItAsAnyOther) {
  CheckpointLocations places(options_, test::borrowed(meters_));
  link_.on_join = [&](int) {
    link_.stands = WorldStatus::kStop;
    return Result<Assignment>(Error(ErrorKind::kInvalid, "the job is over: all is trained"));
  };
  EXPECT_EQ(code_of(link_, places, looking([&] { return places.list_resumable(); })), 80);
  EXPECT_THAT(said_, HasSubstr("the job is over"));
}

TEST_F(JoiningTest, WhatMayPassIsNoMatterOfConfiguration) {
  CheckpointLocations places(options_, test::borrowed(meters_));
  for (const auto& [kind, code] : {std::pair(ErrorKind::kIo, 84),
                                   {ErrorKind::kNotFound, 84},
                                   {ErrorKind::kInvalid, 82},
                                   {ErrorKind::kPermissionDenied, 84}}) {
    link_.on_join = [kind](int) { return Result<Assignment>(Error(kind, "it is not to be had")); };
    EXPECT_EQ(code_of(link_, places, looking([&] { return places.list_resumable(); })), code) << said_;
  }
}

// As a mounted bucket returns a page that a proxy gave. The content of the files is unknown, so that the run
// is not over.
TEST_F(JoiningTest, AWebPageInPlaceOfAManifestIsNoDamage) {
  train();
  const auto put_page = [&](const char* name) {
    std::ofstream(folder_ / "manifests" / name) << "\n<!DOCTYPE html><html><body>Sign in</body></html>";
  };
  put_page("s0000000020.a0007.json");
  CheckpointLocations places(options_, test::borrowed(meters_));
  link_.on_join = [](int) { return Result<Assignment>(Assignment{.attempt = Attempt(8)}); };
  EXPECT_EQ(code_of(link_, places, looking([&] { return places.list_resumable(); })), 0) << said_;
  put_page("s0000000010.a0007.json");
  EXPECT_EQ(code_of(link_, places, looking([&] { return places.list_resumable(); })), 84)
      << "a later start may read it";
  EXPECT_THAT(said_, HasSubstr("some may be intact"));
}

TEST_F(JoiningTest, PlacesThatAnsweredBeforeAreAwaitedForAWhile) {
  CheckpointLocations places(options_, test::borrowed(meters_));
  link_.on_join = [](int join) -> Result<Assignment> {
    if (join == 1) return Error(ErrorKind::kUnavailable, "no coordinator");
    return Assignment{.attempt = Attempt(1)};
  };
  int looks = 0;
  const auto look = [&]() -> Result<checkpoint::Inventory> {
    ++looks;
    EXPECT_EQ(link_.listings, looks) << "a list is as old as the beginning of its reading";
    if (looks > 1 && looks < 5) return Error(ErrorKind::kUnavailable, "slow down");
    return checkpoint::Inventory();
  };
  EXPECT_EQ(code_of(link_, places, looking(look)), 0) << said_;
  EXPECT_EQ(link_.joins, 2);
  EXPECT_THAT(pauses_, testing::ElementsAre(1s, 2s, 4s));
}

TEST_F(JoiningTest, PlacesThatStayAwayEndItInTheEnd) {
  CheckpointLocations places(options_, test::borrowed(meters_));
  link_.on_join = [](int) { return Result<Assignment>(Error(ErrorKind::kUnavailable, "no coordinator")); };
  int looks = 0;
  const auto look = [&]() -> Result<checkpoint::Inventory> {
    if (++looks > 1) return Error(ErrorKind::kUnavailable, "slow down");
    return checkpoint::Inventory();
  };
  EXPECT_EQ(code_of(link_, places, looking(look)), 84);
  EXPECT_EQ(said_, "slow down");
  EXPECT_LT(looks, 20) << "within five minutes";
}

TEST_F(JoiningTest, PlacesThatDoNotAnswerAtTheStartEndItAtOnce) {
  CheckpointLocations places(options_, test::borrowed(meters_));
  const auto look = []() -> Result<checkpoint::Inventory> { return Error(ErrorKind::kUnavailable, "away"); };
  EXPECT_EQ(code_of(link_, places, looking(look)), 84);
  EXPECT_TRUE(pauses_.empty());
}

}  // namespace
}  // namespace ratoon::session::join_world_test
