// The waits for copies in stores, and the result of each.
#include "agent/src/session/locations/mirrors.h"

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "agent/src/checkpoint/tiers/name_pattern.h"
#include "tests/support/borrowed.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::session::mirrors_test {
namespace {

using namespace std::chrono_literals;
using checkpoint::test::id;
using testing::HasSubstr;

constexpr auto kSoon = 60s;

class MirrorsTest : public testing::Test {
 protected:
  MirrorsTest() : home_(checkpoint::test::folder_at(folder_ / "run")) {
    meters_.stores.emplace_back("the store");
  }
  std::unique_ptr<Mirrors> open(Rank rank = Rank(0)) {
    const auto store = checkpoint::test::store_at(folder_ / "store");
    MirrorPlan plan{.tiers = checkpoint::Tiers({{.kind_name = "local", .disk = home_, .store = nullptr},
                                                {.kind_name = "store", .disk = store, .store = store}}),
                    .store_rules = {.last = 2},
                    .may_clean_up = [this](const checkpoint::Disk&) { return may_clean_up_; }};
    auto mirrors = std::make_unique<Mirrors>(std::move(plan), ratoon::test::borrowed(meters_), events_);
    mirrors->begin_attempt({.attempt = Attempt(1), .rank = rank, .world_size = 2});
    return mirrors;
  }
  void commit(Mirrors& mirrors, std::uint64_t step) {
    const auto digest = checkpoint::test::digest_of_commit(home_, id(1, step));
    mirrors.note_committed(checkpoint::entry_of(id(1, step), digest, true));
  }
  static Error failure_of(const checkpoint::SavePromise& ticket) {
    const auto reached = ticket.wait(SaveLevel::kStored, kSoon);
    return reached ? Error(ErrorKind::kInvalid, "it was reached") : reached.error();
  }

  ratoon::test::TemporaryFolder folder_;
  std::shared_ptr<checkpoint::Disk> home_;
  metrics::Meters meters_;
  bool may_clean_up_ = true;
  const std::shared_ptr<EventLog> events_ = std::make_shared<EventLog>();
};

// The committed checkpoint is not found, so that its copy never comes.
TEST_F(MirrorsTest, WhoWaitsForACopyLeavesWhenItIsToldTo) {
  const auto mirrors = open();
  mirrors->note_committed(checkpoint::entry_of(id(1, 10), "of nothing", true));
  int asked = 0;
  const auto late = mirrors->wait_for_newest(1h, [&] { return ++asked < 2; });
  EXPECT_EQ(asked, 2);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_THAT(late.front(), HasSubstr("the checkpoint of step 10 is not in "));
}

TEST_F(MirrorsTest, ATicketHearsOfItsCopyAndOfANewerOne) {
  const auto mirrors = open();
  const checkpoint::SavePromise first;
  const checkpoint::SavePromise passed_over;
  mirrors->await(id(1, 10), first);
  mirrors->await(id(1, 15), passed_over);
  commit(*mirrors, 10);
  EXPECT_TRUE(first.wait(SaveLevel::kStored, kSoon));
  EXPECT_EQ(passed_over.wait(SaveLevel::kStored, 0s).error().kind(), ErrorKind::kTimeout);
  commit(*mirrors, 20);
  EXPECT_TRUE(passed_over.wait(SaveLevel::kStored, kSoon));
  const checkpoint::SavePromise late;
  mirrors->await(id(1, 20), late);
  EXPECT_TRUE(late.wait(SaveLevel::kStored, 0s)) << "it is there already";
}

TEST_F(MirrorsTest, ThreadsCommitAskAndWaitAtOnce) {
  constexpr std::uint64_t kSteps = 8;
  const auto mirrors = open();
  std::atomic<bool> is_over = false;
  std::jthread asker([&] {
    while (!is_over) {
      static_cast<void>(mirrors->copies());
      EXPECT_TRUE(mirrors->find(id(1, kSteps)));
    }
  });
  std::jthread saver([&] {
    for (std::uint64_t step = 1; step <= kSteps; ++step) commit(*mirrors, step);
  });
  std::vector<checkpoint::SavePromise> tickets(kSteps);
  for (std::uint64_t step = 1; step <= kSteps; ++step) mirrors->await(id(1, step), tickets[step - 1]);
  for (const auto& ticket : tickets) EXPECT_TRUE(ticket.wait(SaveLevel::kStored, kSoon));
  saver.join();
  is_over = true;
  asker.join();
  mirrors->stop();
  EXPECT_EQ(meters_.stores.front().durable_step, kSteps);
}

TEST_F(MirrorsTest, WhatCannotBeCopiedIsNotWaitedFor) {
  const auto mirrors = open();
  const auto digest = checkpoint::test::digest_of_commit(home_, id(1, 10));
  std::filesystem::resize_file(folder_ / "run" / checkpoint::pack_path(id(1, 10), Rank(0)), 7);
  const checkpoint::SavePromise ticket;
  mirrors->await(id(1, 10), ticket);
  mirrors->note_committed(checkpoint::entry_of(id(1, 10), digest, true));
  EXPECT_EQ(failure_of(ticket).kind(), ErrorKind::kCorrupted);
}

TEST_F(MirrorsTest, NorIsWhatDoesNotReadBack) {
  ratoon::test::write_text(folder_ / "store", "a file where the store is to be");
  const auto mirrors = open();
  const checkpoint::SavePromise good;
  const checkpoint::SavePromise damaged;
  mirrors->await(id(1, 10), good);
  mirrors->await(id(1, 20), damaged);
  commit(*mirrors, 10);
  mirrors->go_back_to(checkpoint::entry_of(id(1, 10), "digest", true));
  EXPECT_THAT(failure_of(damaged).message(), HasSubstr("cannot be read"));
  std::filesystem::remove(folder_ / "store");
  EXPECT_TRUE(good.wait(SaveLevel::kStored, kSoon));
}

TEST_F(MirrorsTest, WhoDoesNotCopyDoesNotKnow) {
  const auto other = open(Rank(1));
  const checkpoint::SavePromise ticket;
  other->await(id(1, 10), ticket);
  EXPECT_THAT(failure_of(ticket).message(), HasSubstr("only rank 0, which copies to the stores"));
}

// Uses the default name of links, which is the same for all checkpoints.
TEST_F(MirrorsTest, LinksOfKilledProcessesGoUnderAnyName) {
  for (const std::uint64_t attempt : {1, 2})
    static_cast<void>(checkpoint::test::digest_of_commit(home_, id(attempt, 10)));
  const auto left = folder_ / "run" / ".latest-rank0.0123456789abcdef.tmp";
  std::filesystem::create_symlink("packs/a0001/s0000000010/r0000.safetensors", left);
  MirrorPlan plan{.tiers = checkpoint::Tiers({{.kind_name = "local", .disk = home_, .store = nullptr}}),
                  .home_rules = {.last = 1},
                  .run_folder = (folder_ / "run").string(),
                  .latest_name = checkpoint::kLatestPattern,
                  .run_name = "run",
                  .may_clean_up = [](const checkpoint::Disk&) { return true; }};
  Mirrors mirrors(std::move(plan), ratoon::test::borrowed(meters_), events_);
  mirrors.remove_stale_links();
  EXPECT_FALSE(std::filesystem::is_symlink(left));
}

TEST_F(MirrorsTest, AStoreThatIsAnothersByNowIsNotCleanedUp) {
  for (const bool may_clean_up : {false, true}) {
    may_clean_up_ = may_clean_up;
    const std::uint64_t first = may_clean_up ? 50 : 10;
    const auto mirrors = open();
    for (std::uint64_t step = first; step < first + 40; step += 10) {
      const checkpoint::SavePromise ticket;
      mirrors->await(id(1, step), ticket);
      commit(*mirrors, step);
      ASSERT_TRUE(ticket.wait(SaveLevel::kStored, kSoon));
    }
    mirrors->stop();
    const auto left = checkpoint::test::complete_in(*checkpoint::test::store_at(folder_ / "store"));
    if (may_clean_up)
      EXPECT_LE(left.size(), 3u) << "the last one may have been cut short by the end";
    else
      EXPECT_EQ(left.size(), 4u);
  }
}

TEST_F(MirrorsTest, TheEndOfCopiesEndsTheWait) {
  const auto mirrors = open();
  const checkpoint::SavePromise ticket;
  mirrors->await(id(1, 10), ticket);
  mirrors->stop();
  EXPECT_EQ(failure_of(ticket).kind(), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace ratoon::session::mirrors_test
