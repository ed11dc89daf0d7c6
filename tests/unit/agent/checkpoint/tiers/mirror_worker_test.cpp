#include "agent/src/checkpoint/tiers/stores/mirror_worker.h"

#include <atomic>
#include <latch>

#include <gmock/gmock.h>

#include "tests/support/crash/observed_disk.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::mirror_worker_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::complete_in;
using test::id;
using testing::ElementsAre;

class MirrorWorkerTest : public testing::Test {
 protected:
  MirrorWorkerTest() : local_(test::folder_at(folder_ / "run")), store_(test::store_at(folder_ / "store")) {}
  std::shared_ptr<objects::ObjectStore> objects() {
    return *objects::open_store("file://" + (folder_ / "store").string(), {});
  }
  ratoon::test::TemporaryFolder folder_;
  std::shared_ptr<Disk> local_;
  std::shared_ptr<ObjectStoreDisk> store_;
};

TEST_F(MirrorWorkerTest, WhatIsCommittedGetsThere) {
  MirrorWorker worker(local_, objects(), {});
  EXPECT_FALSE(worker.wait_for(id(1, 10), milliseconds(1)));
  for (const std::uint64_t step : {10, 20}) {
    test::digest_of_commit(local_, id(1, step));
    worker.note_committed(id(1, step));
    ASSERT_TRUE(worker.wait_for(id(1, step), Duration::max()));
  }
  EXPECT_EQ(worker.durable(), id(1, 20));
  EXPECT_TRUE(worker.wait_for(id(1, 10), seconds(0))) << "a newer one stands for it";
  EXPECT_THAT(complete_in(*store_), ElementsAre(id(1, 20), id(1, 10)));
}

TEST_F(MirrorWorkerTest, WhatIsOvertakenIsPassedOver) {
  for (std::uint64_t step = 10; step <= 40; step += 10) test::digest_of_commit(local_, id(1, step));
  std::latch begun(1);
  std::latch goes_on(1);
  MirrorWorker worker(local_, objects(),
                      {.on_result = [&](const CheckpointId& which, const auto&, const auto&) {
                        if (which == id(1, 10)) {
                          begun.count_down();
                          goes_on.wait();
                        }
                      }});
  worker.note_committed(id(1, 10));
  begun.wait();
  for (std::uint64_t step = 20; step <= 40; step += 10) worker.note_committed(id(1, step));
  EXPECT_THAT(worker.being_copied(), ElementsAre(id(1, 40)));
  goes_on.count_down();
  ASSERT_TRUE(worker.wait_for(id(1, 40), seconds(60)));
  EXPECT_THAT(complete_in(*store_), ElementsAre(id(1, 40), id(1, 10)));
}

TEST_F(MirrorWorkerTest, WhatMayPassIsTriedAgainAndWhatMayNotIsToldOnce) {
  test::digest_of_commit(local_, id(1, 10));
  test::digest_of_commit(local_, id(1, 20));
  // A file in place of the store's folder: every write fails, until the file is removed.
  ratoon::test::write_text(folder_ / "store", "");
  std::atomic<int> failures{0};
  std::latch third(3);
  const auto told = [&](const CheckpointId&, const Result<MirrorResult>& result, const auto&) {
    if (!result && ++failures <= 3) third.count_down();
  };
  MirrorWorker worker(local_, objects(),
                      {.pause_first = milliseconds(1), .pause_max = milliseconds(1), .on_result = told});
  worker.note_committed(id(1, 10));
  third.wait();
  fs::remove(folder_ / "store");
  ASSERT_TRUE(worker.wait_for(id(1, 10), seconds(60)));

  failures = 0;
  fs::resize_file(folder_ / "run" / pack_path(id(1, 20), Rank(0)), 50);
  worker.note_committed(id(1, 20));
  test::digest_of_commit(local_, id(1, 30));
  while (failures == 0) std::this_thread::yield();
  worker.note_committed(id(1, 30));
  ASSERT_TRUE(worker.wait_for(id(1, 30), seconds(60)));
  EXPECT_EQ(failures, 1) << "what is damaged stays so";
  EXPECT_THAT(complete_in(*store_), ElementsAre(id(1, 30), id(1, 10)));
}

TEST_F(MirrorWorkerTest, WhatTurnedOutDamagedIsNotWaitedForAndTheOneBeforeGetsThere) {
  test::digest_of_commit(local_, id(1, 10));
  test::digest_of_commit(local_, id(1, 20));
  std::latch failed(1);
  std::latch goes_on(1);
  MirrorWorker worker(local_, objects(),
                      {.on_result = [&](const CheckpointId& which, const auto& result, const auto&) {
                        if (which != id(1, 20)) return;
                        EXPECT_FALSE(result);
                        failed.count_down();
                        goes_on.wait();
                      }});
  fs::resize_file(folder_ / "run" / pack_path(id(1, 20), Rank(0)), 50);
  worker.note_committed(id(1, 20));
  failed.wait();
  worker.note_committed(id(1, 20));
  worker.go_back_to(id(1, 10));
  EXPECT_THAT(worker.being_copied(), ElementsAre(id(1, 10)));
  goes_on.count_down();
  ASSERT_TRUE(worker.wait_for(id(1, 10), seconds(60)));
  worker.go_back_to(id(1, 10));
  EXPECT_THAT(worker.being_copied(), testing::IsEmpty()) << "it is there";
  worker.go_back_to(std::nullopt);
  EXPECT_THAT(worker.being_copied(), testing::IsEmpty());
}

// Out of memory: the thread and the process go on.
TEST_F(MirrorWorkerTest, WhatIsThrownAmidACopyIsAFailureThatMayPass) {
  test::digest_of_commit(local_, id(1, 10));
  test::digest_of_commit(local_, id(1, 20));
  std::atomic<int> left{2};
  const auto scarce = std::make_shared<ratoon::test::ObservedDisk>(
      local_, [&](ratoon::test::DiskCall, const std::string&, ratoon::test::Moment) {
        if (left > 0 && left-- > 0) throw std::bad_alloc();
      });
  std::atomic<int> failures{0};
  const auto told = [&](const CheckpointId& which, const Result<MirrorResult>& result, const auto&) {
    if (!result) ++failures;
    if (result && which == id(1, 10)) throw std::bad_alloc();
  };
  MirrorWorker worker(scarce, objects(),
                      {.pause_first = milliseconds(1),
                       .pause_max = milliseconds(1),
                       .before_first_copy = [](const auto&) { throw std::bad_alloc(); },
                       .on_result = told});
  worker.note_committed(id(1, 10));
  ASSERT_TRUE(worker.wait_for(id(1, 10), seconds(60)));
  worker.note_committed(id(1, 20));
  ASSERT_TRUE(worker.wait_for(id(1, 20), seconds(60)));
  EXPECT_EQ(failures, 3) << "two copies, and what follows a copy";
}

// What follows a copy, such as updates of `latest`, may take long.
TEST_F(MirrorWorkerTest, ItsEndStopsWhatFollowsACopyAndAWaitLetsItFinish) {
  test::digest_of_commit(local_, id(1, 10));
  std::latch begun(1);
  std::latch goes_on(1);
  std::atomic<bool> was_stopped{false};
  {
    MirrorWorker worker(
        local_, objects(),
        {.on_result = [&](const CheckpointId& which, const auto&, const std::stop_token& stop) {
          if (which == id(1, 10)) {
            begun.count_down();
            return goes_on.wait();
          }
          while (!stop.stop_requested()) std::this_thread::yield();
          was_stopped = true;
        }});
    EXPECT_TRUE(worker.wait_for_report(seconds(0))) << "no copy has begun";
    worker.note_committed(id(1, 10));
    begun.wait();
    ASSERT_TRUE(worker.wait_for(id(1, 10), seconds(60)));
    EXPECT_FALSE(worker.wait_for_report(milliseconds(1)));
    goes_on.count_down();
    EXPECT_TRUE(worker.wait_for_report(seconds(60)));
    test::digest_of_commit(local_, id(1, 20));
    worker.note_committed(id(1, 20));
    ASSERT_TRUE(worker.wait_for(id(1, 20), seconds(60)));
  }
  EXPECT_TRUE(was_stopped);
}

TEST_F(MirrorWorkerTest, ItsEndDoesNotWaitForTheStore) {
  ratoon::test::write_text(folder_ / "store", "");
  test::digest_of_commit(local_, id(1, 10));
  std::latch failed(1);
  std::atomic<bool> is_first{true};
  {
    MirrorWorker worker(
        local_, objects(),
        {.pause_first = seconds(600), .on_result = [&](const auto&, const auto&, const auto&) {
           if (is_first.exchange(false)) failed.count_down();
         }});
    worker.note_committed(id(1, 10));
    failed.wait();
  }  // in the middle of a pause of ten minutes
  SUCCEED();
}

}  // namespace
}  // namespace ratoon::checkpoint::mirror_worker_test
