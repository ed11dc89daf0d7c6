// Power cuts at every operation of a run that goes back by hand and saves again: the run is unchanged, or it
// has gone back and knows the samples to skip; there is no state in between, and no given-up checkpoint is
// deleted. The same power cuts with a guarantee left out, which shows that each guarantee is needed.
#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/rollback_files.h"
#include "agent/src/checkpoint/tiers/lineage.h"
#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::rollback_crash_test {
namespace {

using test::CrashReport;
using test::CrashState;
using test::DiskCall;
using test::Fault;
using test::Life;
using test::ModelDisk;

constexpr CheckpointId id(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}
const Rollback kBack{.attempt = Attempt(2), .to = id(1, 20), .skip = 7, .skip_to = 100};
const KeepRules kKeep{.last = 4};
constexpr const char* kRecorded = "recorded";

std::shared_ptr<ModelDisk> disk_with(test::DiskImage image) {
  return std::make_shared<ModelDisk>(std::move(image));
}

test::DiskImage before_it() {
  Life life{.disk = std::make_shared<ModelDisk>(), .rules = kKeep};
  for (const std::uint64_t step : {10, 20, 30, 40}) EXPECT_TRUE(life.save(id(1, step)));
  return life.disk->image();
}

enum class Order { kRecordFirst, kAsideFirst };

// Makes the rollback as rank 0 of attempt 2 does, and then trains on.
std::vector<test::DiskOp> log_of_going_back(const test::FaultPlan& faults = {},
                                            Order order = Order::kRecordFirst) {
  const auto disk = disk_with(before_it());
  disk->set_faults(faults);
  if (order == Order::kAsideFirst) {
    EXPECT_TRUE(set_rolled_back_aside(*disk, std::span(&kBack, 1), "mark"));
  }
  EXPECT_TRUE(record_rollback(*disk, kBack, "mark"));
  disk->acknowledge(kRecorded);
  if (order == Order::kRecordFirst) {
    EXPECT_TRUE(set_rolled_back_aside(*disk, std::span(&kBack, 1), "mark"));
  }
  Life life{.disk = disk, .rules = kKeep};
  EXPECT_TRUE(life.save(id(2, 30)));
  return disk->log();
}

bool has_packs(const ModelDisk& disk, const CheckpointId& which) {
  const auto paths = disk.all_paths();
  return std::find(paths.begin(), paths.end(), pack_path(which, Rank(0))) != paths.end() &&
         std::find(paths.begin(), paths.end(), pack_path(which, Rank(1))) != paths.end();
}

std::optional<std::string> judge(const CrashState& state) {
  const auto disk = disk_with(state.image);
  const auto store = RunStore::open(disk, "next");
  if (!store) return "cannot be opened: " + store.error().message();
  const auto found = store->inventory();
  if (!found) return "cannot be looked at: " + found.error().message();
  if (auto damage = test::find_damage(*found)) return damage;
  const bool has_gone_back = !found->rollbacks.empty();
  if (!state.acknowledged.empty() && !has_gone_back) return "the rollback is forgotten";
  std::optional<CheckpointId> recovered;
  if (auto problem = test::recover(*store, recovered)) return problem;
  if (!recovered) return "nothing is left";
  if (!has_gone_back && *recovered != id(1, 40))
    return "a mix: without the record at " + test::text_of(*recovered);
  if (has_gone_back && *recovered != kBack.to && *recovered != id(2, 30))
    return "a mix: with the record at " + test::text_of(*recovered);
  const bool is_saved = !state.acknowledged.empty() && state.acknowledged.back() != kRecorded;
  if (is_saved && *recovered != id(2, 30)) return "what it saved is lost";
  if (has_gone_back && slot_after_rollbacks(kBack.to, 93, rollbacks_in_force(found->rollbacks)) != 100)
    return "nothing is passed over";
  for (const std::uint64_t step : {30, 40})
    if (!has_packs(*disk, id(1, step))) return "deleted: step " + std::to_string(step);

  // The next start completes the rollback, and saves.
  if (has_gone_back && !set_rolled_back_aside(*disk, found->rollbacks, "next")) return "cannot be set aside";
  Life life{.disk = disk, .rules = kKeep};
  if (auto saved = life.save(id(3, 50)); !saved) return "wedged: " + saved.error().message();
  const auto left = store->inventory();
  if (!left || id_of(left->complete.front()) != id(3, 50)) return "what is saved next is not the newest";
  for (const std::string& path : disk->all_paths())
    if (path.starts_with("rollbacks/.")) return "litter stays: " + path;
  return std::nullopt;
}

TEST(RollbackPowerCut, LeavesTheOldStateOrTheNewOne) {
  const CrashReport report =
      test::check_crashes({.before = before_it(),
                           .ops = log_of_going_back(),
                           .chances_a_cut = static_cast<std::uint32_t>(test::afforded(200))},
                          judge);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
  std::printf("going back: %llu states, %llu of them different\n",
              static_cast<unsigned long long>(report.states),
              static_cast<unsigned long long>(report.distinct));
  EXPECT_GE(report.states, test::afforded(5'000));
}

std::uint64_t bad_without(DiskCall call, const std::string& path) {
  const auto ops = log_of_going_back([&](DiskCall asked, const std::string& of) {
    return Fault{.is_swallowed = asked == call && of.starts_with(path)};
  });
  return test::check_crashes({.before = before_it(), .ops = ops, .chances_a_cut = 50}, judge).bad;
}

TEST(RollbackPowerCut, EachPromiseIsNeeded) {
  if (test::kEffortPercent < 100)
    GTEST_SKIP() << "a search for what is lost; sanitizers look for other things";
  EXPECT_GT(bad_without(DiskCall::kSync, "rollbacks/"), 0u) << "the bytes of the record";
  EXPECT_GT(bad_without(DiskCall::kSyncFolder, "rollbacks"), 0u) << "its name";
  EXPECT_GT(bad_without(DiskCall::kSyncFolder, ""), 0u) << "the name of its folder, and of all others";
  const CrashReport report = test::check_crashes(
      {.before = before_it(), .ops = log_of_going_back({}, Order::kAsideFirst), .chances_a_cut = 50}, judge);
  EXPECT_GT(report.bad, 0u) << "the record comes before anything moves";
}

}  // namespace
}  // namespace ratoon::checkpoint::rollback_crash_test
