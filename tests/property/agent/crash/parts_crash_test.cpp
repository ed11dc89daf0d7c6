// Power cuts at every operation of a run whose tensors are saved in parts: no acknowledged checkpoint loses a
// part, no wrong part is accepted, and the next attempt removes the parts that no checkpoint needs.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/parts/part_files.h"
#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::parts_crash_test {
namespace {

using test::CrashReport;
using test::CrashState;
using test::Life;
using test::ModelDisk;

std::optional<std::string> find_unneeded_part(const ModelDisk& disk) {
  std::set<std::string> needed;
  const auto committed = checkpoints_with_manifest_in(disk, {kManifests});
  for (const CheckpointId& id : *committed) {
    const auto sealed = read_manifest(disk, id);
    if (!sealed) continue;
    for (const PackRecord& pack : sealed->manifest.packs) static_cast<void>(count_part_bytes(pack, needed));
  }
  for (const std::string& path : disk.all_paths())
    if (path.starts_with("parts/") && !needed.contains(path)) return path;
  return std::nullopt;
}

std::optional<std::string> judge(const CrashState& state) {
  const auto disk = std::make_shared<ModelDisk>(state.image);
  const auto store = RunStore::open(disk, "next");
  if (!store) return "cannot be opened: " + store.error().message();
  std::optional<CheckpointId> recovered;
  if (auto problem = test::recover(*store, recovered)) return problem;
  const CheckpointId promised =
      state.acknowledged.empty() ? CheckpointId() : test::parse_id(state.acknowledged.back());
  if (recovered.value_or(CheckpointId()) < promised) return "lost " + test::text_of(promised);

  const auto inventory = store->inventory();
  const CheckpointId next{.attempt = Attempt(inventory->newest_attempt.value() + 1), .step = Step(1000)};
  Life life{.disk = disk, .is_in_parts = true};
  if (auto saved = life.save(next); !saved) return "wedged: " + saved.error().message();
  if (auto verified = store->verify(next); !verified) return "not whole: " + verified.error().message();
  if (inventory->damaged.empty())
    if (const auto part = find_unneeded_part(*disk)) return "a part stays: " + *part;
  return std::nullopt;
}

std::vector<test::DiskOp> log_of(const KeepRules& rules) {
  Life life{.disk = std::make_shared<ModelDisk>(), .rules = rules, .is_in_parts = true};
  for (const auto& [attempt, step] : {std::pair{1, 10}, {1, 20}, {2, 15}}) {
    const auto saved = life.save({.attempt = Attempt(static_cast<std::uint64_t>(attempt)),
                                  .step = Step(static_cast<std::uint64_t>(step))});
    EXPECT_TRUE(saved) << saved.error().message();
  }
  return life.disk->log();
}

TEST(PowerCutOfParts, NoPartOfAnAcknowledgedCheckpointIsLost) {
  for (const KeepRules& rules : {KeepRules{.last = 1}}) {
    const CrashReport report = check_crashes(
        {.ops = log_of(rules), .chances_a_cut = static_cast<std::uint32_t>(test::afforded(1))}, judge);
    EXPECT_EQ(report.bad, 0u) << report.first_bad;
    EXPECT_GE(report.states, test::afforded(100));
  }
}

TEST(PowerCutOfParts, SavesShareParts) {
  Life life{.disk = std::make_shared<ModelDisk>(), .is_in_parts = true};
  ASSERT_TRUE(life.save({.attempt = Attempt(1), .step = Step(10)}));
  ASSERT_TRUE(life.save({.attempt = Attempt(1), .step = Step(20)}));
  const auto sealed = read_manifest(*life.disk, {.attempt = Attempt(1), .step = Step(20)});
  ASSERT_TRUE(sealed);
  std::set<std::string> paths;
  for (const PackRecord& pack : sealed->manifest.packs) static_cast<void>(count_part_bytes(pack, paths));
  const auto is_of_first = [](const std::string& path) {
    return path.find("/s0000000010/") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(paths, is_of_first));
  EXPECT_FALSE(std::ranges::all_of(paths, is_of_first));
}

}  // namespace
}  // namespace ratoon::checkpoint::parts_crash_test
