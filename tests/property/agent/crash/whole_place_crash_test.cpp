// Power cuts at every operation of a run that writes every kind of file into its place: its identity, claims,
// launches, histories, packs, receipts, manifests, pins, and the record of a rollback. After each cut the
// same command trains on at once, and no person has to remove a file.
#include <cstdio>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/lost_manifests.h"
#include "agent/src/checkpoint/commit/rollback_files.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "agent/src/checkpoint/tiers/lineage.h"
#include "agent/src/history/history_file.h"
#include "agent/src/history/join.h"
#include "agent/src/session/locations/identity.h"
#include "agent/src/session/locations/launch_record.h"
#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::whole_place_crash_test {
namespace {

using test::CrashState;
using test::ModelDisk;

constexpr KeepRules kKeep{.last = 2};
const std::string kIsPinned = "pinned ";
const std::string kWentBack = "went back";
const std::vector<LaunchName> kLaunches{{.name = "job 7", .restarts = 2}};

CheckpointId id(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}

// A start up to its first step, as each attempt does it, and the objects that it holds from then on.
struct Start {
  std::shared_ptr<ModelDisk> disk;
  std::string mark;
  std::optional<Claim> claim{};
  std::optional<RunStore> store{};
  std::optional<history::HistoryFile> history{};

  Result<void> begin() {
    static const Options kDefaults;
    const auto identity =
        session::job_identity_of(kDefaults, *disk, [] { return Result<std::uint64_t>(7U); }, mark);
    if (!identity) return identity.error();
    SeenClaim seen;
    auto taken = Claim::take(
        disk, {.job = job_text("/runs/digits on here", *identity), .start = mark}, {}, ManualClock(),
        [](Duration) { return false; }, seen);  // nobody waits for it
    if (!taken) return taken.error();
    claim.emplace(*std::move(taken));
    auto opened = RunStore::open(disk, mark);
    if (!opened) return opened.error();
    store.emplace(*std::move(opened));
    const auto found = store->inventory();
    if (!found) return found.error();
    if (found->complete.empty() && *has_packs_of_lost_manifests(*disk))
      return Error(ErrorKind::kCorrupted, "manifests were lost");
    if (const auto known = session::was_accepted_before(*disk, kLaunches); !known) return known.error();
    if (auto noted = session::record_accepted_launches(*disk, kLaunches, mark); !noted) return noted;
    auto begun = history::HistoryFile::begin(*disk, found->newest_attempt.next(), std::nullopt);
    if (!begun) return begun.error();
    history.emplace(*std::move(begun));
    return {};
  }

  Result<void> save(const CheckpointId& which) {
    history->append({.kind = "step", .step = which.step.value(), .at = {}, .values = {{"loss", 0.5}}});
    if (const auto synced = history->sync(); !synced) return synced.error();
    auto saved = test::save_world(*store, {.id = which, .rules = kKeep, .acknowledge = [&] {
                                             disk->acknowledge(test::text_of(which));
                                           }});
    return saved ? claim->renew() : std::move(saved);
  }
};

std::vector<test::DiskOp> log_of_two_lives() {
  const auto disk = std::make_shared<ModelDisk>();
  Start first{.disk = disk, .mark = "first"};
  EXPECT_TRUE(first.begin());
  for (const std::uint64_t step : {10, 20, 30}) {
    EXPECT_TRUE(first.save(id(1, step)));
    if (step != 20) continue;
    EXPECT_TRUE(*pin(*disk, id(1, 20), "the best one", "first"));
    disk->acknowledge(kIsPinned + test::text_of(id(1, 20)));
  }
  EXPECT_TRUE(first.claim->release());
  Start second{.disk = disk, .mark = "second"};
  EXPECT_TRUE(second.begin());
  const Rollback back{.attempt = Attempt(2), .to = id(1, 20)};
  EXPECT_TRUE(record_rollback(*disk, back, "second"));
  disk->acknowledge(kWentBack);
  EXPECT_TRUE(set_rolled_back_aside(*disk, std::span(&back, 1), "second"));
  EXPECT_TRUE(second.save(id(2, 25)));
  return disk->log();
}

// The least progress that the run must have, by the acknowledged checkpoints.
CheckpointId promised_by(const std::vector<std::string>& acknowledged, bool has_gone_back) {
  CheckpointId newest{};
  for (const std::string& text : acknowledged) {
    if (text == kWentBack) newest = id(1, 20);
    if (text != kWentBack && !text.starts_with(kIsPinned)) newest = test::parse_id(text);
  }
  return has_gone_back && newest.attempt == Attempt(1) ? id(1, 20) : newest;
}

std::optional<std::string> judge_histories(const Disk& disk) {
  const auto attempts = history::list_attempts(disk);
  if (!attempts) return attempts.error().message();
  const auto place =
      history::newest_position(*attempts, [&](Attempt attempt) { return history::read_file(disk, attempt); });
  return place ? std::nullopt : std::optional("no history: " + place.error().message());
}

std::optional<std::string> judge(const CrashState& state) {
  const auto disk = std::make_shared<ModelDisk>(state.image);
  Start next{.disk = disk, .mark = "next"};
  if (auto begun = next.begin(); !begun) return "does not start: " + begun.error().message();
  const auto found = next.store->inventory();
  if (!found) return "cannot be looked at: " + found.error().message();
  if (auto damage = test::find_damage(*found)) return damage;
  std::optional<CheckpointId> recovered;
  if (auto problem = test::recover(*next.store, recovered)) return problem;
  // The rollback counts from its record on, before any process was told.
  const bool has_gone_back = !found->rollbacks.empty();
  const CheckpointId promised = promised_by(state.acknowledged, has_gone_back);
  if (recovered.value_or(CheckpointId()) < promised) return "lost " + test::text_of(promised);
  for (const std::string& text : state.acknowledged) {
    if (!text.starts_with(kIsPinned)) continue;
    const auto is_kept = is_pinned(*disk, test::parse_id(text.substr(kIsPinned.size())));
    if (!is_kept || !*is_kept) return "the pin is forgotten";
  }
  if (const auto pins = read_pins(*disk); !pins) return "pins cannot be read: " + pins.error().message();
  if (auto bad = judge_histories(*disk)) return bad;
  const CheckpointId again = id(found->newest_attempt.next().value(), 1000);
  if (auto saved = next.save(again); !saved) return "wedged: " + saved.error().message();
  return std::nullopt;
}

TEST(PowerCutOfAWholePlace, TheSameCommandTrainsOn) {
  const auto report = test::check_crashes(
      {.ops = log_of_two_lives(), .chances_a_cut = static_cast<std::uint32_t>(test::afforded(15))}, judge);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
  std::printf("all that a run writes: %llu states, %llu of them different\n",
              static_cast<unsigned long long>(report.states),
              static_cast<unsigned long long>(report.distinct));
  EXPECT_GE(report.distinct, test::afforded(500));
}

}  // namespace
}  // namespace ratoon::checkpoint::whole_place_crash_test
