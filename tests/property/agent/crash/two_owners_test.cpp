// Two coordinators in one folder. With claims the second coordinator is refused while the first is alive, and
// takes over from a silent one, which then stops; without claims, as if both were let in, their saves are
// never mixed. In each order of their calls of the disk and at each power cut, each checkpoint is of one job.
#include <algorithm>
#include <cstdio>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/tiers/claim.h"
#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"
#include "tests/support/crash/turns.h"

namespace ratoon::checkpoint::two_owners_test {
namespace {

using std::chrono::seconds;
using test::CrashReport;
using test::CrashState;
using test::ModelDisk;
using test::Turns;

constexpr std::uint32_t kRanks = 2;
constexpr int kLooks = 40;  // of rank 0, for the votes of the others
// Few observations, so that many an owner counts as silent while the other has the turn.
constexpr ClaimTimes kTimes{.lease = seconds(5), .poll_interval = seconds(1), .namesake_wait = seconds(300)};

CheckpointId id_at(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}

// The save of a rank of that job, whose files name the job.
Result<void> save_rank(const RunStore& store, const CheckpointId& id, std::uint32_t rank,
                       const std::string& owner) {
  const std::string text = owner + " " + test::text_of(id);
  const TensorView view{.name = "owner", .shape = {text.size()}, .bytes = std::as_bytes(std::span(text))};
  return store.write_pack(id, Rank(rank), std::span(&view, 1));
}

// A checkpoint whose ranks name different jobs.
std::optional<std::string> find_mixture(const RunStore& store) {
  const auto inventory = store.inventory();
  if (!inventory) return "no inventory: " + inventory.error().message();
  if (const auto damage = test::find_damage(*inventory)) return damage;
  for (const InventoryEntry& entry : inventory->complete) {
    std::vector<std::string> said;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const auto loaded =
          store.load({.attempt = entry.attempt, .step = entry.step, .digest = entry.digest}, Rank(rank));
      if (!loaded) return "cannot be loaded: " + loaded.error().message();
      said.push_back(loaded->at("owner").bytes);
    }
    if (said.front() != said.back()) return "mixed: " + said.front() + " with " + said.back();
  }
  return std::nullopt;
}

Result<Claim> take(const std::shared_ptr<Disk>& disk, const std::string& job, SeenClaim& seen) {
  ManualClock clock;
  const auto pause = [&](Duration look) {
    clock.advance(look);
    return true;
  };
  return Claim::take(disk, {.job = job, .start = job}, kTimes, clock, pause, seen);
}

Turns::Rule by_chance(std::uint64_t seed) {
  return [chance = std::mt19937_64(seed)](const std::vector<std::size_t>& waiting, std::size_t mover,
                                          std::uint64_t) mutable {
    const bool goes_on = chance() % 8 != 0 && std::count(waiting.begin(), waiting.end(), mover) == 1;
    return goes_on ? mover : waiting[chance() % waiting.size()];
  };
}

// A rank of a job that was let in: it saves, and rank 0 commits after all votes.
void train(const std::shared_ptr<ModelDisk>& model, const std::shared_ptr<Disk>& disk,
           const std::string& owner, std::uint32_t rank) {
  const auto store = RunStore::open(disk, owner + std::to_string(rank), owner);
  ASSERT_TRUE(store) << store.error().message();
  for (const std::uint64_t step : {10u, 20u, 30u}) {
    const CheckpointId id = id_at(1, step);
    if (!save_rank(*store, id, rank, owner) || rank != 0) continue;  // the other job may have that name
    for (int look = 0; look < kLooks; ++look) {
      const auto committed = store->try_commit(id, kRanks);
      if (!committed) break;
      if (!*committed) continue;
      model->acknowledge(owner);
      break;
    }
  }
}

std::vector<test::DiskOp> two_that_were_let_in(std::uint64_t seed) {
  const auto model = std::make_shared<ModelDisk>();
  Turns turns(by_chance(seed));
  std::vector<std::function<void()>> programs;
  for (const char* owner : {"aaaa", "bbbb"}) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const std::size_t mover = programs.size();
      programs.emplace_back(
          [&turns, &model, mover, owner, rank] { train(model, turns.disk_of(mover, model), owner, rank); });
    }
  }
  turns.play(programs);
  return model->log();
}

std::optional<std::string> judge_mixtures(const CrashState& state) {
  const auto store = RunStore::open(std::make_shared<ModelDisk>(state.image), "next");
  if (!store) return "cannot be opened: " + store.error().message();
  return find_mixture(*store);
}

void print(const char* what, std::uint64_t stories, const CrashReport& sum) {
  std::printf("%s: %llu orders, %llu states, %llu of them different, %llu bad\n", what,
              static_cast<unsigned long long>(stories), static_cast<unsigned long long>(sum.states),
              static_cast<unsigned long long>(sum.distinct), static_cast<unsigned long long>(sum.bad));
}

TEST(TwoOwners, ThatWereBothLetInMixNoCheckpoint) {
  CrashReport sum;
  test::JudgedStates judged;
  const std::uint64_t stories = test::afforded(50);
  for (std::uint64_t seed = 1; seed <= stories && !HasFailure(); ++seed) {
    const CrashReport report = check_crashes(
        {.ops = two_that_were_let_in(seed), .chances_a_cut = 1, .seed = seed, .judged = &judged},
        judge_mixtures);
    EXPECT_EQ(report.bad, 0u) << "seed " << seed << ": " << report.first_bad;
    add(sum, report);
  }
  print("both let in", stories, sum);
}

// A coordinator's life: it claims the place, reads the existing checkpoints, and saves while the place is its
// own.
void coordinate(const std::shared_ptr<ModelDisk>& model, const std::shared_ptr<Disk>& disk,
                const std::string& owner) {
  SeenClaim seen;
  auto claim = take(disk, owner, seen);
  if (!claim) return;  // the other is alive
  const auto store = RunStore::open(disk, owner, owner);
  ASSERT_TRUE(store) << store.error().message();
  const auto inventory = store->inventory();
  ASSERT_TRUE(inventory) << inventory.error().message();
  const Attempt attempt = inventory->newest_attempt.next();
  for (const std::uint64_t step : {10u, 20u, 30u}) {
    if (!claim->renew()) return;
    const CheckpointId id = id_at(attempt.value(), step);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      if (!save_rank(*store, id, rank, owner)) return;
    const auto committed = store->try_commit(id, kRanks);
    if (!committed || !*committed) return;
    // No process relies on reports that were made while the place belonged to another job.
    if (!claim->renew()) return;
    model->acknowledge(test::text_of(id));
    static_cast<void>(store->retire_old({.last = 2}, attempt));
  }
  static_cast<void>(claim->release());
}

std::optional<std::string> judge_claims(const CrashState& state) {
  const auto disk = std::make_shared<ModelDisk>(state.image);
  const auto newest = newest_claim(*disk);
  if (!newest) return "the claims cannot be looked at: " + newest.error().message();
  if (*newest && (*newest)->is_unreadable) return "the newest claim cannot be read";
  SeenClaim seen;
  const auto claim = take(disk, "next", seen);
  if (!claim) return "the next job cannot begin: " + claim.error().message();
  const auto store = RunStore::open(disk, "next", "next");
  if (!store) return "cannot be opened: " + store.error().message();
  if (auto mixture = find_mixture(*store)) return mixture;
  CheckpointId promised;
  for (const std::string& said : state.acknowledged) promised = std::max(promised, test::parse_id(said));
  const auto inventory = store->inventory();
  const CheckpointId found =
      inventory->complete.empty() ? CheckpointId() : id_of(inventory->complete.front());
  if (found < promised) return "lost " + test::text_of(promised) + ", got " + test::text_of(found);
  return std::nullopt;
}

TEST(TwoOwners, OfWhichEachClaimsThePlaceLoseAndMixNothing) {
  CrashReport sum;
  test::JudgedStates judged;
  const std::uint64_t stories = test::afforded(50);
  for (std::uint64_t seed = 1; seed <= stories && !HasFailure(); ++seed) {
    const auto model = std::make_shared<ModelDisk>();
    Turns turns(by_chance(seed));
    turns.play({[&] { coordinate(model, turns.disk_of(0, model), "aaaa"); },
                [&] { coordinate(model, turns.disk_of(1, model), "bbbb"); }});
    const CrashReport report = check_crashes(
        {.ops = model->log(), .chances_a_cut = 1, .seed = seed, .judged = &judged}, judge_claims);
    EXPECT_EQ(report.bad, 0u) << "seed " << seed << ": " << report.first_bad;
    add(sum, report);
  }
  print("with claims", stories, sum);
}

// A job that starts while the other saves without a pause is refused, and changes nothing but its own claim
// files.
TEST(TwoOwners, TheSecondIsRefusedWhileTheFirstIsAlive) {
  const auto model = std::make_shared<ModelDisk>();
  SeenClaim seen;
  auto first = take(model, "aaaa", seen);
  ASSERT_TRUE(first);
  const auto before = model->all_paths();
  ManualClock clock;
  SeenClaim seen_by_second;
  const auto second = Claim::take(
      model, {.job = "bbbb", .start = "b"}, kTimes, clock,
      [&](Duration look) {
        clock.advance(look);
        EXPECT_TRUE(first->renew());
        return true;
      },
      seen_by_second);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(model->all_paths().size(), before.size());
}

}  // namespace
}  // namespace ratoon::checkpoint::two_owners_test
