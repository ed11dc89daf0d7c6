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
using testing::Contains;
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

// The store cannot be written, so that the copy is tried again and again.
TEST_F(MirrorsTest, WhoWaitsForACopyLeavesWhenItIsToldTo) {
  ratoon::test::write_text(folder_ / "store", "a file where the store is to be");
  const auto mirrors = open();
  commit(*mirrors, 10);
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

TEST_F(MirrorsTest, ACopyThatIsGivenUpIsNotWaitedForAtTheEnd) {
  const auto mirrors = open();
  const auto digest = checkpoint::test::digest_of_commit(home_, id(1, 10));
  std::filesystem::resize_file(folder_ / "run" / checkpoint::pack_path(id(1, 10), Rank(0)), 7);
  mirrors->note_committed(checkpoint::entry_of(id(1, 10), digest, true));
  const auto late = mirrors->wait_for_newest(1h, {});
  ASSERT_EQ(late.size(), 1u);
  EXPECT_THAT(late.front(), HasSubstr("the checkpoint of step 10 is not in "));
  mirrors->stop();
  std::vector<std::string> said;
  events_->move_to(said);
  EXPECT_THAT(said, Contains(HasSubstr("the copy of this checkpoint is not tried again")));
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

// A store on a server: a put of a pointer waits until `puts_together` of them run at once, or until it is
// told to stop.
class SlowPointers final : public objects::ObjectStore {
 public:
  SlowPointers(std::shared_ptr<ObjectStore> store, int puts_together)
      : store_(std::move(store)), puts_together_(puts_together) {}

  [[nodiscard]] int max_at_once() const { return max_at_once_; }
  void wait_for_pointer() const {
    while (max_at_once_ == 0) std::this_thread::yield();
  }

  [[nodiscard]] const std::string& uri() const override { return store_->uri(); }
  Result<objects::ObjectInfo> get(std::string_view key, objects::ObjectSink& sink,
                                  const objects::GetOptions& options) override {
    return store_->get(key, sink, options);
  }
  Result<objects::ObjectInfo> head(std::string_view key, std::stop_token stop) override {
    return store_->head(key, stop);
  }
  Result<void> put(std::string_view key, std::string_view bytes,
                   const objects::PutOptions& options) override {
    if (key == refused) return Error(ErrorKind::kPermissionDenied, "no right to write " + refused);
    if (key.starts_with("latest-")) {
      const int now = ++at_once_;
      for (int most = max_at_once_; most < now && !max_at_once_.compare_exchange_weak(most, now);) continue;
      while (max_at_once_ < puts_together_ && !options.stop.stop_requested()) std::this_thread::yield();
      --at_once_;
      if (options.stop.stop_requested()) return Error(ErrorKind::kCancelled, "it is told to stop");
    }
    return store_->put(key, bytes, options);
  }
  Result<objects::UploadedObject> upload(std::string_view key, objects::ObjectSource& source,
                                         const objects::UploadOptions& options) override {
    return store_->upload(key, source, options);
  }
  Result<std::uint64_t> abort_stale_uploads(std::string_view prefix, Duration older_than,
                                            std::stop_token stop) override {
    return store_->abort_stale_uploads(prefix, older_than, stop);
  }
  Result<objects::ObjectPage> list(std::string_view prefix, std::string_view page,
                                   std::stop_token stop) override {
    return store_->list(prefix, page, stop);
  }
  Result<void> remove(std::string_view key, std::stop_token stop) override {
    return store_->remove(key, stop);
  }

  std::string refused;  // a key without the right to write it

 private:
  const std::shared_ptr<ObjectStore> store_;
  const int puts_together_;
  std::atomic<int> at_once_{0};
  std::atomic<int> max_at_once_{0};
};

class MirrorsPointersTest : public MirrorsTest {
 protected:
  std::unique_ptr<Mirrors> open_slow(int puts_together, std::uint32_t ranks) {
    const auto files = *objects::open_store("file://" + (folder_ / "store").string(), {});
    slow_ = std::make_shared<SlowPointers>(files, puts_together);
    const auto store = std::make_shared<checkpoint::ObjectStoreDisk>(slow_);
    MirrorPlan plan{.tiers = checkpoint::Tiers({{.kind_name = "local", .disk = home_, .store = nullptr},
                                                {.kind_name = "store", .disk = store, .store = store}}),
                    .store_rules = {.last = 2},
                    .run_folder = (folder_ / "run").string(),
                    .latest_name = checkpoint::kLatestPattern,
                    .run_name = "run"};
    auto mirrors = std::make_unique<Mirrors>(std::move(plan), ratoon::test::borrowed(meters_), events_);
    mirrors->begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = ranks});
    return mirrors;
  }
  [[nodiscard]] int count_pointers() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "store"))
      if (entry.path().filename().string().starts_with("latest-rank")) ++count;
    return count;
  }
  std::shared_ptr<SlowPointers> slow_;
};

TEST_F(MirrorsPointersTest, PointersOfManyRanksAreWrittenSeveralAtATimeBeforeTheEnd) {
  const auto mirrors = open_slow(4, 50);
  commit(*mirrors, 10);
  EXPECT_THAT(mirrors->wait_for_newest(1h), testing::IsEmpty());
  EXPECT_EQ(count_pointers(), 50);
  EXPECT_GE(slow_->max_at_once(), 4);
  EXPECT_LE(slow_->max_at_once(), 16);
}

TEST_F(MirrorsPointersTest, AFailedOneKeepsNoOtherOneOld) {
  const auto mirrors = open_slow(1, 50);
  slow_->refused = "latest-rank0";
  commit(*mirrors, 10);
  EXPECT_THAT(mirrors->wait_for_newest(1h), testing::IsEmpty());
  EXPECT_EQ(count_pointers(), 49);
}

TEST_F(MirrorsPointersTest, AProcessThatLeavesDoesNotWaitForThem) {
  const auto mirrors = open_slow(1000, 50);
  commit(*mirrors, 10);
  slow_->wait_for_pointer();
  EXPECT_THAT(mirrors->wait_for_newest(0s), testing::IsEmpty()) << "the checkpoint is there";
  mirrors->stop();
  EXPECT_EQ(count_pointers(), 0);
  std::vector<std::string> said;
  events_->move_to(said);
  EXPECT_THAT(said, testing::IsEmpty()) << "it was told to stop";
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
