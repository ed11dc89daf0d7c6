// Power cuts at every operation of a run that saves, commits, retires, sets aside and starts again: no
// acknowledged checkpoint is lost, no wrong byte is accepted, no start gets stuck. The same power cuts with
// one guarantee of the disk left out, which shows that each guarantee is needed.
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::checkpoint_crash_test {
namespace {

using test::CrashReport;
using test::CrashState;
using test::DiskCall;
using test::Fault;
using test::Life;
using test::ModelDisk;

std::shared_ptr<ModelDisk> disk_with(test::DiskImage image) {
  return std::make_shared<ModelDisk>(std::move(image));
}

std::optional<std::string> judge(const CrashState& state) {
  const auto disk = disk_with(state.image);
  const auto store = RunStore::open(disk, "next");
  if (!store) return "cannot be opened: " + store.error().message();
  if (auto damage = test::find_damage(*store->inventory())) return damage;
  std::optional<CheckpointId> recovered;
  if (auto problem = test::recover(*store, recovered)) return problem;
  if (!state.acknowledged.empty()) {
    const CheckpointId promised = test::parse_id(state.acknowledged.back());
    if (!recovered) return "lost " + test::text_of(promised) + ": nothing is left";
    if (*recovered < promised)
      return "lost " + test::text_of(promised) + ": got " + test::text_of(*recovered);
  }
  const auto left = store->inventory();
  for (const InventoryEntry& entry : left->complete) {
    if (const auto there = store->verify(id_of(entry)); !there)
      return "listed as complete and is not: " + there.error().message();
  }
  std::optional<CheckpointId> again;
  if (auto problem = test::recover(*store, again)) return "the second time: " + *problem;
  if (again != recovered) return "recovery is not the same twice";

  // The next attempt must be able to save, and to remove the files that this attempt left.
  const auto inventory = store->inventory();
  const CheckpointId next{.attempt = Attempt(inventory->newest_attempt.value() + 1), .step = Step(1000)};
  Life life{.disk = disk};
  if (auto saved = life.save(next); !saved) return "wedged: " + saved.error().message();
  if (const auto litter = test::find_litter(*store, disk->all_paths())) return "litter stays: " + *litter;
  return std::nullopt;
}

struct Case {
  const char* name;
  std::uint32_t ranks;
  KeepRules rules;
};

std::vector<test::DiskOp> log_of(const Case& which, const test::FaultPlan& faults = {}) {
  Life life{.disk = std::make_shared<ModelDisk>(), .ranks = which.ranks, .rules = which.rules};
  life.disk->set_faults(faults);
  for (const auto& [attempt, step] : {std::pair{1, 10}, {1, 20}, {1, 30}, {2, 25}, {2, 35}, {4, 30}}) {
    const auto saved = life.save({.attempt = Attempt(static_cast<std::uint64_t>(attempt)),
                                  .step = Step(static_cast<std::uint64_t>(step))});
    EXPECT_TRUE(saved) << saved.error().message();
  }
  return life.disk->log();
}

TEST(PowerCut, NothingAcknowledgedIsLost) {
  CrashReport sum;
  for (const Case& which : {Case{"two ranks", 2, {.last = 2}}, Case{"keep one", 2, {.last = 1}},
                            Case{"milestones", 2, {.last = 1, .every_steps = 20}}}) {
    for (std::uint64_t seed = 1; seed <= test::afforded(2); ++seed) {
      const CrashReport report =
          check_crashes({.ops = log_of(which),
                         .chances_a_cut = static_cast<std::uint32_t>(test::afforded(80)),
                         .seed = seed},
                        judge);
      EXPECT_EQ(report.bad, 0u) << which.name << ": " << report.first_bad;
      add(sum, report);
    }
  }
  std::printf("%llu states, %llu of them different, %llu bad\n", static_cast<unsigned long long>(sum.states),
              static_cast<unsigned long long>(sum.distinct), static_cast<unsigned long long>(sum.bad));
  EXPECT_GE(sum.states, test::afforded(100'000));
}

// Packs of several blocks: torn, reordered and cut short in the middle of a tensor.
TEST(PowerCut, OfPacksOfSeveralBlocks) {
  constexpr std::size_t kWeightBytes = 80'000;
  Life life{.disk = std::make_shared<ModelDisk>(), .weight_bytes = kWeightBytes};
  for (const std::uint64_t step : {10u, 20u})
    EXPECT_TRUE(life.save({.attempt = Attempt(1), .step = Step(step)}));
  const auto judge_large = [](const CrashState& state) -> std::optional<std::string> {
    const auto store = RunStore::open(disk_with(state.image), "next");
    if (auto damage = test::find_damage(*store->inventory())) return damage;
    std::optional<CheckpointId> recovered;
    if (auto problem = test::recover(*store, recovered, kWeightBytes)) return problem;
    if (state.acknowledged.empty()) return std::nullopt;
    const CheckpointId promised = test::parse_id(state.acknowledged.back());
    if (recovered.value_or(CheckpointId()) < promised) return "lost " + test::text_of(promised);
    return std::nullopt;
  };
  const CrashReport report = test::check_crashes(
      {.ops = life.disk->log(), .chances_a_cut = static_cast<std::uint32_t>(test::afforded(30))},
      judge_large);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
  std::printf("large packs: %llu states, %llu of them different\n",
              static_cast<unsigned long long>(report.states),
              static_cast<unsigned long long>(report.distinct));
}

// The guarantees that the engine needs from the disk, one at a time: without it, some power cut loses a
// checkpoint.
struct Promise {
  const char* what;
  DiskCall call;
  const char* path;  // the beginning of those it is about
  const char* ending = "";
};

test::FaultPlan without(const Promise& promise) {
  return [promise](DiskCall call, const std::string& path) {
    return Fault{.is_swallowed = call == promise.call && path.starts_with(promise.path) &&
                                 path.ends_with(promise.ending)};
  };
}

TEST(PowerCut, EachSyncIsNeeded) {
  if (test::kEffortPercent < 100)
    GTEST_SKIP() << "a search for what is lost; sanitizers look for other things";
  for (const Promise& promise : {
           Promise{"bytes of a pack", DiskCall::kSync, "packs/"},
           Promise{"bytes of a manifest", DiskCall::kSync, "manifests/"},
           Promise{"names of packs", DiskCall::kSyncFolder, "packs/", "0"},
           Promise{"names of attempts", DiskCall::kSyncFolder, "packs", "packs"},
           Promise{"names of steps", DiskCall::kSyncFolder, "packs/a0001", "a0001"},
           Promise{"names of manifests", DiskCall::kSyncFolder, "manifests"},
           Promise{"names of folders and all in them", DiskCall::kSyncFolder, "", ""},
       }) {
    const auto ops = log_of({"two ranks", 2, {.last = 2}}, without(promise));
    const CrashReport report = check_crashes({.ops = ops, .chances_a_cut = 20}, judge);
    EXPECT_GT(report.bad, 0u) << promise.what;
  }
}

// The only checkpoint is bad. At any point while it is set aside, the run is never mistaken for a new one.
std::vector<test::DiskOp> log_of_setting_aside(test::DiskImage& before, const test::FaultPlan& faults) {
  Life life{.disk = std::make_shared<ModelDisk>()};
  EXPECT_TRUE(life.save({.attempt = Attempt(1), .step = Step(10)}));
  life.disk->bytes_of("packs/a0001/s0000000010/r0001.safetensors")->back() ^= 1;
  before = life.disk->image();
  const auto disk = disk_with(before);
  disk->set_faults(faults);
  std::optional<CheckpointId> recovered;
  EXPECT_EQ(test::recover(*RunStore::open(disk, "mark"), recovered), std::nullopt);
  EXPECT_EQ(recovered, std::nullopt);
  return disk->log();
}

std::optional<std::string> judge_damage(const CrashState& state) {
  const auto store = RunStore::open(disk_with(state.image), "next");
  std::optional<CheckpointId> recovered;
  if (auto problem = test::recover(*store, recovered)) return problem;
  if (recovered) return "a bad checkpoint was taken";
  if (store->inventory()->damaged.empty()) return "a run whose checkpoints are bad looks like a new one";
  return std::nullopt;
}

TEST(PowerCut, WhatIsBadIsNeverForgotten) {
  test::DiskImage before;
  const auto ops = log_of_setting_aside(before, {});
  const CrashReport report =
      check_crashes({.before = before, .ops = ops, .chances_a_cut = 500}, judge_damage);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
  for (const Promise& promise : {Promise{"names in quarantine", DiskCall::kSyncFolder, "quarantine"},
                                 Promise{"the name of quarantine", DiskCall::kSyncFolder, "", ""}}) {
    const auto broken = log_of_setting_aside(before, without(promise));
    EXPECT_GT(check_crashes({.before = before, .ops = broken, .chances_a_cut = 500}, judge_damage).bad, 0u)
        << promise.what;
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::checkpoint_crash_test
