// Two worlds at once: an older attempt that does not know that it is dead saves, commits and cleans up, late,
// while a newer one commits and sweeps; and the ranks of one world, each of them a program of its own. Every
// tested order of their calls of the disk is followed by power cuts after each call. No checkpoint that the
// newest attempt acknowledged is lost, and none of its saves fails.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"
#include "tests/support/crash/turns.h"

namespace ratoon::checkpoint::checkpoint_zombie_test {
namespace {

using test::CrashReport;
using test::CrashState;
using test::Life;
using test::ModelDisk;
using test::Turns;

CheckpointId id_at(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}

CheckpointId newest_promise(const CrashState& state) {
  CheckpointId newest;
  for (const std::string& said : state.acknowledged) newest = std::max(newest, test::parse_id(said));
  return newest;
}

std::optional<std::string> judge(const CrashState& state) {
  const auto disk = std::make_shared<ModelDisk>(state.image);
  const auto store = RunStore::open(disk, "next");
  if (!store) return "cannot be opened: " + store.error().message();
  std::optional<CheckpointId> recovered;
  if (auto problem = test::recover(*store, recovered)) return problem;
  const CheckpointId promised = newest_promise(state);
  if (recovered.value_or(CheckpointId()) < promised)
    return "lost " + test::text_of(promised) + ", got " + test::text_of(recovered.value_or(CheckpointId()));
  const auto inventory = store->inventory();
  for (const InventoryEntry& entry : inventory->complete) {
    if (const auto there = store->verify(id_of(entry)); !there)
      return "listed as complete and is not: " + there.error().message();
  }
  Life life{.disk = disk};
  if (auto saved = life.save(id_at(inventory->newest_attempt.value() + 1, 1000)); !saved)
    return "wedged: " + saved.error().message();
  if (!store->inventory()->damaged.empty()) return "a manifest without packs stays";
  if (const auto litter = test::find_litter(*store, disk->all_paths())) return "litter stays: " + *litter;
  return std::nullopt;
}

void save_in_turn(const std::shared_ptr<ModelDisk>& model, std::shared_ptr<Disk> disk,
                  const std::string& mark, const std::vector<CheckpointId>& ids, bool must_work) {
  const auto store = RunStore::open(std::move(disk), mark);
  ASSERT_TRUE(store || !must_work) << store.error().message();
  for (const CheckpointId& id : ids) {
    const auto saved =
        store ? test::save_world(*store,
                                 {.id = id, .acknowledge = [&] { model->acknowledge(test::text_of(id)); }})
              : Result<void>(store.error());
    EXPECT_TRUE(saved || !must_work) << test::text_of(id) << ": " << saved.error().message();
    if (!saved) return;  // its process ends
  }
}

struct Story {
  std::vector<test::DiskOp> ops;
  std::vector<std::uint64_t> moves;  // of the zombie, and of the newer attempt
};

// Attempt 1 has saved, and goes on while attempt 2 does the same.
Story two_attempts(const Turns::Rule& rule) {
  const auto model = std::make_shared<ModelDisk>();
  Life life{.disk = model};
  EXPECT_TRUE(life.save(id_at(1, 10)));
  EXPECT_TRUE(life.save(id_at(1, 20)));
  Story story{.ops = {}, .moves = {0, 0}};
  Turns turns([&](const std::vector<std::size_t>& waiting, std::size_t mover, std::uint64_t move) {
    story.moves[mover] = move;
    return rule(waiting, mover, move);
  });
  turns.play(
      {[&] { save_in_turn(model, turns.disk_of(0, model), "old", {id_at(1, 30), id_at(1, 40)}, false); },
       [&] { save_in_turn(model, turns.disk_of(1, model), "new", {id_at(2, 30), id_at(2, 40)}, true); }});
  story.ops = model->log();
  return story;
}

// `sleeper` hangs in its `at`-th call until the other program has ended; the other does not begin before.
Turns::Rule hangs(std::size_t sleeper, std::uint64_t at) {
  return [=, has_slept = false](const std::vector<std::size_t>& waiting, std::size_t mover,
                                std::uint64_t move) mutable {
    const bool is_over = waiting.size() == 1;
    has_slept = has_slept || (mover == sleeper && move == at);
    if (is_over) return waiting.front();
    return has_slept ? 1 - sleeper : sleeper;
  };
}

Turns::Rule by_chance(std::uint64_t seed) {
  return [chance = std::mt19937_64(seed)](const std::vector<std::size_t>& waiting, std::size_t mover,
                                          std::uint64_t) mutable {
    const bool goes_on = chance() % 8 != 0 && std::count(waiting.begin(), waiting.end(), mover) == 1;
    return goes_on ? mover : waiting[chance() % waiting.size()];
  };
}

void print(const char* what, std::uint64_t stories, const CrashReport& sum) {
  std::printf("%s: %llu orders, %llu states, %llu of them different, %llu bad\n", what,
              static_cast<unsigned long long>(stories), static_cast<unsigned long long>(sum.states),
              static_cast<unsigned long long>(sum.distinct), static_cast<unsigned long long>(sum.bad));
}

// The nightly run tests every call; otherwise every eleventh call of a life of two hundred is tested.
std::uint64_t stride() {
  const char* const text = std::getenv("RATOON_CRASH_STRIDE");
  return text == nullptr ? 1100 / test::kEffortPercent : std::strtoull(text, nullptr, 10);
}

TEST(Zombie, ThatHangsInAnyCallChangesNothing) {
  CrashReport sum;
  test::JudgedStates judged;
  std::uint64_t stories = 0;
  for (const std::size_t sleeper : {0u, 1u}) {
    std::uint64_t moves = 1;
    for (std::uint64_t at = 1; at <= moves; at += stride()) {
      const Story story = two_attempts(hangs(sleeper, at));
      moves = std::max(moves, story.moves[sleeper]);  // it may fail at once, as it should
      const CrashReport report =
          check_crashes({.ops = story.ops, .chances_a_cut = 1, .seed = at, .judged = &judged}, judge);
      EXPECT_EQ(report.bad, 0u) << (sleeper == 0 ? "zombie" : "newer attempt") << " hangs in its call " << at
                                << " of " << moves << ": " << report.first_bad;
      add(sum, report);
      ++stories;
    }
  }
  print("one hangs", stories, sum);
}

TEST(Zombie, WhoseCallsComeBetweenChangesNothing) {
  CrashReport sum;
  test::JudgedStates judged;
  const std::uint64_t stories = test::afforded(25);
  for (std::uint64_t seed = 1; seed <= stories && !HasFailure(); ++seed) {
    const Story story = two_attempts(by_chance(seed));
    const CrashReport report =
        check_crashes({.ops = story.ops, .chances_a_cut = 1, .seed = seed, .judged = &judged}, judge);
    EXPECT_EQ(report.bad, 0u) << "seed " << seed << ": " << report.first_bad;
    add(sum, report);
  }
  print("by chance", stories, sum);
}

// A start beside a zombie that commits and cleans up: the result of the start's single listing.
std::optional<CheckpointId> found_beside(const Turns::Rule& rule, std::uint64_t& moves) {
  const auto model = std::make_shared<ModelDisk>();
  Life life{.disk = model, .rules = {.last = 1}};
  EXPECT_TRUE(life.save(id_at(1, 10)));
  Turns turns([&](const std::vector<std::size_t>& waiting, std::size_t mover, std::uint64_t move) {
    if (mover == 1) moves = std::max(moves, move);
    return rule(waiting, mover, move);
  });
  std::optional<CheckpointId> found;
  const auto zombie = [&] {
    const auto store = RunStore::open(turns.disk_of(0, model), "old");
    for (const std::uint64_t step : {20u, 30u})
      EXPECT_TRUE(
          test::save_world(*store, {.id = id_at(1, step), .rules = {.last = 1}, .acknowledge = [] {}}));
  };
  const auto start = [&] {
    const auto store = RunStore::open(turns.disk_of(1, model), "new");
    const auto inventory = store->inventory();
    EXPECT_TRUE(inventory) << inventory.error().message();
    if (!inventory->complete.empty()) found = id_of(inventory->complete.front());
  };
  turns.play({zombie, start});
  return found;
}

TEST(Zombie, IsNoReasonToStartOver) {
  std::uint64_t moves = 1;
  for (std::uint64_t at = 1; at <= moves; ++at)
    EXPECT_NE(found_beside(hangs(1, at), moves), std::nullopt) << "the start hangs in its call " << at;
  for (std::uint64_t seed = 1; seed <= test::afforded(500); ++seed)
    EXPECT_NE(found_beside(by_chance(seed), moves), std::nullopt) << "seed " << seed;
}

// Each rank writes and continues; rank 0 commits when it has seen all votes.
std::vector<test::DiskOp> two_ranks(std::uint64_t seed) {
  const auto model = std::make_shared<ModelDisk>();
  Turns turns(by_chance(seed));
  const auto save_rank = [&](std::size_t rank) {
    const auto store = RunStore::open(turns.disk_of(rank, model), rank == 0 ? "zero" : "one");
    ASSERT_TRUE(store) << store.error().message();
    for (const std::uint64_t step : {10u, 20u, 30u}) {
      const CheckpointId id = id_at(1, step);
      const LoadedTensors states = test::states_of(id, static_cast<std::uint32_t>(rank));
      const auto written =
          store->write_pack(id, Rank(static_cast<std::uint32_t>(rank)), test::views_of(states));
      ASSERT_TRUE(written) << written.error().message();
      if (rank != 0) continue;
      while (true) {
        const auto committed = store->try_commit(id, 2);
        ASSERT_TRUE(committed) << committed.error().message();
        if (*committed) break;
      }
      model->acknowledge(test::text_of(id));
      const auto retired = store->retire_old({.last = 1}, id.attempt);
      ASSERT_TRUE(retired) << retired.error().message();
    }
  };
  turns.play({[&] { save_rank(0); }, [&] { save_rank(1); }});
  return model->log();
}

TEST(Ranks, MayWriteInAnyOrder) {
  CrashReport sum;
  test::JudgedStates judged;
  const std::uint64_t stories = test::afforded(25);
  for (std::uint64_t seed = 1; seed <= stories && !HasFailure(); ++seed) {
    const CrashReport report =
        check_crashes({.ops = two_ranks(seed), .chances_a_cut = 2, .seed = seed, .judged = &judged}, judge);
    EXPECT_EQ(report.bad, 0u) << "seed " << seed << ": " << report.first_bad;
    add(sum, report);
  }
  print("ranks", stories, sum);
}

}  // namespace
}  // namespace ratoon::checkpoint::checkpoint_zombie_test
