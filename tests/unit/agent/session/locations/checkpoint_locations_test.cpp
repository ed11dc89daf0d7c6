// The work of an engine in its places before the first step.
#include "agent/src/session/locations/checkpoint_locations.h"

#include <algorithm>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/train.h>

#include "agent/src/checkpoint/disk/real/memory_file_system.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "agent/src/session/engine/engine.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/quiet_link.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint_locations_test {
namespace {

using testing::HasSubstr;

// An engine that saves every 10 steps when it is polled, with its slots in `folder`.
class PlacedEngine {
 public:
  PlacedEngine(const std::filesystem::path& folder, Options options, const Assignment& assignment)
      : options_(std::move(options)),
        places_(options_, test::borrowed(meters_)),
        saver_(checkpoint::Saver::open(
                   places_.home(), random_hex_name(), std::make_shared<SystemClock>(),
                   {.slots_folder = folder, .slot_file_prefix = "slot-of-a-test", .has_writer_thread = false})
                   .value()),
        engine({.options = options_,
                .places = places_,
                .saver = saver_,
                .link = link_,
                .clock = clock_,
                .meters = meters_},
               assignment) {}

 private:
  const Options options_;
  metrics::Meters meters_;
  const SystemClock clock_;
  test::QuietLink link_;
  session::CheckpointLocations places_;
  checkpoint::Saver saver_;

 public:
  Session::Engine engine;
};

class CheckpointLocationsTest : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
};

// No copy waits for a disk.
TEST_F(CheckpointLocationsTest, SlotsAreInMemory) {
  metrics::Meters meters;
  const auto slots_folder_of = [&](const std::filesystem::path& staging) {
    const Options options{
        .save_folder = folder_.path().string(), .run_name = "run", .staging_folder = staging.string()};
    return session::CheckpointLocations(options, test::borrowed(meters)).saver_options().slots_folder;
  };
  if (checkpoint::is_in_memory(folder_.path()).value()) GTEST_SKIP() << folder_.path() << " is in memory";
  EXPECT_EQ(slots_folder_of(folder_.path()), "");
  EXPECT_EQ(slots_folder_of(folder_ / "to" / "be" / "made"), "");
  EXPECT_EQ(slots_folder_of("/dev/shm"), "/dev/shm");
  EXPECT_EQ(slots_folder_of("/dev/shm/to/be/made"), "/dev/shm/to/be/made");
  EXPECT_EQ(slots_folder_of(""), "");
}

// A process whose claim is over learns this at its next renewal; until then it removes no files of the other
// job.
TEST_F(CheckpointLocationsTest, NothingIsRemovedWhereAnotherJobOwnsThePlaceByNow) {
  metrics::Meters meters;
  const auto claims = folder_ / "run" / "claims";
  for (const bool has_coordinator : {true, false}) {
    const Options options{
        .save_folder = folder_.path().string(),
        .run_name = "run",
        .member = {.coordinator_url = has_coordinator ? "http://127.0.0.1:9" : "", .job_uid = "6f1c"}};
    session::CheckpointLocations places(options, test::borrowed(meters));
    places.enter([] { return false; });
    const auto world = places.save_context({.attempt = Attempt(1), .rank = Rank(0)});
    EXPECT_TRUE(world.may_clean_up());
    std::filesystem::create_directories(claims);
    test::write_text(claims / "c0000000002.txt",
                     "ratoon claim 1\njob /other on here of 77aa\nstart b\nstate held\n");
    EXPECT_EQ(world.may_clean_up(), !has_coordinator) << "a folder that a lock holds is nobody else's";
    std::filesystem::remove_all(claims);
  }
}

// Its coordinator and its other members go on: no other job must take the places in between.
TEST_F(CheckpointLocationsTest, AProcessThatEndsBeforeItsJobLeavesTheJobsClaim) {
  metrics::Meters meters;
  const Options options{.save_folder = folder_.path().string(),
                        .run_name = "run",
                        .member = {.coordinator_url = "http://127.0.0.1:9", .job_uid = "6f1c"}};
  for (const bool is_job_over : {false, true}) {
    std::shared_ptr<checkpoint::Disk> home;
    {
      session::CheckpointLocations places(options, test::borrowed(meters));
      places.begin_attempt({.attempt = Attempt(1), .rank = Rank(0)}, [] { return true; });
      if (is_job_over) places.note_job_over();
      home = places.home();
    }
    EXPECT_EQ((*checkpoint::newest_claim(*home))->is_released, is_job_over);
  }
}

// Its checkpoints were listed before: those of the other job are newer, and no step of them is given up.
TEST_F(CheckpointLocationsTest, AnAttemptDoesNotBeginWithAListFromBeforeAnotherJob) {
  metrics::Meters meters;
  const Options options{.save_folder = folder_.path().string(),
                        .run_name = "run",
                        .member = {.coordinator_url = "http://127.0.0.1:9", .job_uid = "6f1c"}};
  session::CheckpointLocations places(options, test::borrowed(meters));
  const auto go_on = [] { return true; };
  places.enter(go_on);
  ManualClock of_other;
  checkpoint::SeenClaim seen;
  auto other = checkpoint::Claim::take(
      places.home(), {.job = "/elsewhere on node-2 of 0a2b", .start = "other"}, {}, of_other,
      [&](Duration look) {
        of_other.advance(look);
        return true;
      },
      seen);
  ASSERT_TRUE(other && other->release());
  const Assignment assignment{.attempt = Attempt(1), .rank = Rank(0)};
  EXPECT_THROW(places.begin_attempt(assignment, go_on), Interrupted);
  EXPECT_NO_THROW(places.begin_attempt(assignment, go_on)) << "it has listed again";
}

// The other job may have used the numbers of the attempt whose pack is in memory.
TEST_F(CheckpointLocationsTest, APackInMemoryFromBeforeAnotherJobIsNotAdopted) {
  metrics::Meters meters;
  const Options options{.save_folder = folder_.path().string(),
                        .run_name = "run",
                        .staging_folder = "/dev/shm",
                        .member = {.coordinator_url = "http://127.0.0.1:9", .job_uid = "6f1c"}};
  const auto mark_of_start = [&] {
    session::CheckpointLocations places(options, test::borrowed(meters));
    places.enter([] { return false; });
    return places.saver_options().location_hash;
  };
  const auto mark = mark_of_start();
  EXPECT_EQ(mark_of_start(), mark) << "the next start of the job writes the pack";
  test::write_text(folder_ / "run" / "claims" / "c0000000007.txt",
                   "ratoon claim 1\njob /other on here of 77aa\nstart b since 7\nstate released\n");
  EXPECT_NE(mark_of_start(), mark);
}

// A commit or a removal may hang on the disk for longer than a lease, and the job may have the place again.
TEST_F(CheckpointLocationsTest, AnAttemptChangesNothingOnceAnotherJobHasUsedThePlace) {
  metrics::Meters meters;
  const Options options{.save_folder = folder_.path().string(),
                        .run_name = "run",
                        .member = {.coordinator_url = "http://127.0.0.1:9", .job_uid = "6f1c"}};
  session::CheckpointLocations places(options, test::borrowed(meters));
  const Assignment assignment{.attempt = Attempt(1), .rank = Rank(0)};
  places.begin_attempt(assignment, [] { return true; });
  const auto world = places.save_context(assignment);
  EXPECT_TRUE(world.confirm_ownership());
  EXPECT_TRUE(world.may_clean_up());
  const auto mine = (*checkpoint::newest_claim(*places.home())).value();
  ASSERT_EQ(mine.term, 1u);
  const auto claims = folder_ / "run" / "claims";
  test::write_text(claims / "c0000000004.txt", checkpoint::encode_claim(mine.owner, 4, false));
  EXPECT_FALSE(world.may_clean_up());
  const auto rolled_back = places.record_rollbacks({});
  ASSERT_FALSE(rolled_back) << "the rollbacks are those of the job that used the place since";
  EXPECT_EQ(rolled_back.error().kind(), ErrorKind::kConflict);
  EXPECT_THROW(places.move_old_checkpoints_away(Attempt(1)), Failure);
  const auto confirmed = world.confirm_ownership();
  ASSERT_FALSE(confirmed);
  EXPECT_EQ(confirmed.error().kind(), ErrorKind::kConflict);
  EXPECT_TRUE(places.find_lost_reason())
      << "the process starts again, and lists the checkpoints of the other job";
}

// A process that was suspended still copies. Another job has used the store since, and the process's own job
// has the store again: the removals are those of its newer attempt.
TEST_F(CheckpointLocationsTest, ACopyRemovesNothingFromAStoreThatAnotherJobHasUsedSinceTheAttemptBegan) {
  for (const bool is_used_by_another_job : {false, true}) {
    const std::string run_name = is_used_by_another_job ? "contested" : "alone";
    metrics::Meters meters;
    const Options options{.save_folder = folder_.path().string(),
                          .run_name = run_name,
                          .stores = {(folder_ / "copies").string()},
                          .keep_last_in_stores = 1,
                          .member = {.coordinator_url = "http://127.0.0.1:9", .job_uid = "6f1c"}};
    session::CheckpointLocations places(options, test::borrowed(meters));
    const Assignment assignment{.attempt = Attempt(1), .rank = Rank(0)};
    places.begin_attempt(assignment, [] { return true; });
    const auto world = places.save_context(assignment);
    const std::shared_ptr<checkpoint::Disk> store =
        *checkpoint::RealDisk::open_folder(folder_ / "copies" / run_name);
    const auto copy = [&](std::uint64_t step) {
      const auto digest = checkpoint::test::digest_of_commit(places.home(), checkpoint::test::id(1, step));
      world.on_commit(checkpoint::entry_of(checkpoint::test::id(1, step), digest, true));
      EXPECT_THAT(places.wait_for_copies(std::chrono::minutes(1)), testing::IsEmpty());
    };
    copy(10);
    if (is_used_by_another_job) {
      const auto mine = (*checkpoint::newest_claim(*store)).value();
      test::write_text(folder_ / "copies" / run_name / "claims" / "c0000000099.txt",
                       checkpoint::encode_claim(mine.owner, mine.term + 2, false));
    }
    copy(20);
    copy(30);  // the copying thread has removed what it may after step 20, and then copied this one
    const auto there = checkpoint::test::complete_in(*store);
    EXPECT_EQ(std::ranges::count(there, checkpoint::test::id(1, 10)), is_used_by_another_job ? 1 : 0);
  }
}

// An exception may be passing trouble: the same program starts again, and goes on.
TEST_F(CheckpointLocationsTest, ARunGivesItsStoreBackAtItsEndAndNotAfterAFailure) {
  const std::shared_ptr<checkpoint::Disk> store = *checkpoint::RealDisk::open_folder(folder_ / "copies/run");
  const auto train_for = [&](bool fails) {
    const Options options{.save_folder = folder_.path().string(),
                          .run_name = "run",
                          .save_every = Every::steps(10),
                          .stores = {(folder_ / "copies").string()}};
    return train(options, [&](Session& session) {
      for ([[maybe_unused]] const std::uint64_t step : session.steps(10)) {
        if (fails) throw std::runtime_error("a passing fault");
      }
    });
  };
  EXPECT_NE(train_for(true), 0);
  EXPECT_FALSE((*checkpoint::newest_claim(*store))->is_released);
  EXPECT_EQ(train_for(false), 0);
  EXPECT_TRUE((*checkpoint::newest_claim(*store))->is_released);
}

TEST_F(CheckpointLocationsTest, ThereIsASlotBeforeTheFirstSave) {
  PlacedEngine placed(
      folder_.path(),
      {.save_folder = folder_.path().string(), .run_name = "run", .save_every = Every::steps(10)},
      {.attempt = Attempt(1)});
  const std::vector<std::byte> large(1 << 20);
  placed.engine.track(
      "large",
      [&](StateWriter& out) {
        out.tensor({.name = "", .type = ElementType::kUint8, .shape = {large.size()}, .bytes = large});
      },
      [](StateReader&) {});
  placed.engine.begin(Until::steps(100));
  placed.engine.end_step();
  EXPECT_GE(std::filesystem::file_size(folder_ / "slot-of-a-test-0.slot"), large.size());
}

// A rank that took another job's newest checkpoint would train another model.
TEST_F(CheckpointLocationsTest, ManyBeginWithOneNamedCheckpointOfAnotherRun) {
  const Options other{
      .save_folder = folder_.path().string(), .run_name = "other", .save_every = Every::steps(10)};
  ASSERT_EQ(train(other,
                  [](Session& session) {
                    for ([[maybe_unused]] const std::uint64_t step : session.steps(10)) {
                    }
                  }),
            0);
  const std::string source = (folder_ / "other").string();
  PlacedEngine placed(folder_.path(),
                      {.save_folder = folder_.path().string(), .run_name = "run", .load_from = source},
                      {.attempt = Attempt(1), .rank = Rank(0), .world_size = 2});
  try {
    placed.engine.begin(Until::steps(10));
    FAIL() << "it begins";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, 82);
    EXPECT_THAT(why.what(), HasSubstr("name one of its manifests, for example " + source +
                                      "/manifests/s0000000010.a0001.json"));
  }
}

}  // namespace
}  // namespace ratoon::checkpoint_locations_test
