// The laws of the core, over thousands of small worlds with faults. A failure names its seed:
//   RATOON_SEED=1234 reconcile_laws_test        repeats it and tells what happened
//   RATOON_SEEDS=100000 reconcile_laws_test     digs deeper, from RATOON_FIRST_SEED on
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/core/reconcile.h"
#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {
namespace {

using core::Decision;
using core::Observation;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// A seat, as far as it must never differ between two that have the same attempt.
using SeatKey = std::tuple<std::string, std::uint32_t, std::string, std::string>;
using SeatList = std::vector<SeatKey>;

SeatList keys_of(const std::vector<api::Seat>& world) {
  SeatList keys;
  for (const auto& seat : world) {
    const auto& a = seat.assignment;
    keys.emplace_back(seat.process.start, a.rank.value(), a.rendezvous,
                      a.resume ? a.resume->digest : "beginning");
  }
  return keys;
}

bool is_same(const Decision& a, const Decision& b) {
  return a.status == b.status && a.actions == b.actions && a.wake_at == b.wake_at &&
         a.announcement.attempt == b.announcement.attempt &&
         a.announcement.current == b.announcement.current && a.announcement.stop == b.announcement.stop &&
         a.announcement.reason == b.announcement.reason &&
         keys_of(a.announcement.world) == keys_of(b.announcement.world);
}

bool is_final(const api::TrainingJobStatus& status) {
  return status.phase == api::JobPhase::kSucceeded || status.phase == api::JobPhase::kFailed;
}

std::uint64_t sum_of_incarnations(const api::TrainingJobStatus& status) {
  std::uint64_t sum = 0;
  for (const auto& member : status.members) sum += member.incarnation;
  return sum;
}

Lineage newest_in(const Observation& seen, const std::vector<api::Seat>& world) {
  Lineage newest;
  for (const auto& process : seen.processes) {
    const bool sits =
        std::any_of(world.begin(), world.end(), [&](const auto& s) { return s.process == process.identity; });
    if (!sits || !process.waiting) continue;
    for (const auto& entry : process.waiting->inventory)
      newest = std::max(newest, Lineage{entry.attempt, entry.step});
  }
  return newest;
}

class Laws {
 public:
  explicit Laws(World& world) : world_(world) {}

  // Decides once, and looks at the decision from all sides.
  Decision decide() {
    const Observation seen = world_.observe();
    const Decision decision = core::reconcile(seen, world_.now());
    check_repetition(seen, decision);
    check_status(seen.job.status, decision.status);
    check_current(decision);
    check_world(seen, decision);
    return decision;
  }

  // What was stored, whether or not it could be told.
  void note_stored(const Decision& decision) {
    if (world_.job().status != decision.status || decision.announcement.world.empty()) return;
    const auto [known, is_new] =
        worlds_.emplace(decision.announcement.attempt, keys_of(decision.announcement.world));
    EXPECT_EQ(known->second, keys_of(decision.announcement.world)) << "two worlds with one attempt";
  }

 private:
  void check_repetition(const Observation& seen, const Decision& decision) {
    EXPECT_TRUE(is_same(decision, core::reconcile(seen, world_.now()))) << "not deterministic";
    if (!world_.dice().percent(30)) return;
    const Observation after = world_.observe_after(seen, decision);
    const Decision second = core::reconcile(after, world_.now());
    EXPECT_TRUE(second.actions.empty())
        << "carried out, and yet there is something to do: " << api::encode_status(decision.status)
        << api::encode_status(second.status);
    api::TrainingJobStatus expected = decision.status;  // the UIDs of pods that were just made are news
    if (!is_final(expected)) {
      for (std::size_t i = 0; i < expected.members.size() && i < second.status.members.size(); ++i)
        if (expected.members[i].uid.empty()) expected.members[i].uid = second.status.members[i].uid;
    }
    EXPECT_EQ(api::encode_status(second.status), api::encode_status(expected))
        << "carried out, and yet it changes";
    EXPECT_EQ(keys_of(second.announcement.world), keys_of(decision.announcement.world));
  }

  void check_status(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) {
    EXPECT_GE(after.attempt, before.attempt);
    EXPECT_LE(after.attempt.value(), before.attempt.value() + 1) << "one attempt a world";
    EXPECT_GE(after.restarts.application, before.restarts.application);
    EXPECT_GE(after.restarts.disruption, before.restarts.disruption);
    if (is_final(before)) {
      EXPECT_EQ(after, before) << "the end is the end";
      return;
    }
    if (after.phase == api::JobPhase::kFailed) {
      EXPECT_TRUE(world_.has_had_fatal_exit() || after.restarts.application > world_.scenario().restarts_max)
          << "failed for no reason: " << after.message;
      return;
    }
    EXPECT_EQ(after.restarts.application + after.restarts.disruption, sum_of_incarnations(after))
        << "each ended incarnation counts once";
    const auto checkpoint_of = [](const api::TrainingJobStatus& s) {
      return s.last_checkpoint ? Lineage{s.last_checkpoint->attempt, s.last_checkpoint->step} : Lineage{};
    };
    EXPECT_GE(checkpoint_of(after), checkpoint_of(before));
    if (after.last_checkpoint) {
      EXPECT_TRUE(world_.checkpoints().contains(checkpoint_of(after)));
    }
    if (after.phase == api::JobPhase::kSucceeded) {
      const auto& all = world_.checkpoints();
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& c) {
        return c.first.second.value() == world_.scenario().total_steps;
      })) << "succeeded without the last checkpoint";
    }
  }

  void check_current(const Decision& decision) {
    std::set<std::pair<std::string, std::uint32_t>> members;
    for (const auto& current : decision.announcement.current) {
      EXPECT_TRUE(members.emplace(current.role, current.index).second) << "two incarnations are current";
      const auto& all = decision.status.members;
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& m) {
        return m.role == current.role && m.index == current.index && m.incarnation == current.incarnation;
      }));
    }
  }

  void check_world(const Observation& seen, const Decision& decision) {
    const auto& world = decision.announcement.world;
    if (world.empty()) return;
    std::set<std::uint32_t> ranks;
    for (const auto& seat : world) {
      ranks.insert(seat.assignment.rank.value());
      EXPECT_EQ(seat.assignment.attempt, decision.status.attempt);
      EXPECT_EQ(seat.assignment.world_size, world.size());
      EXPECT_EQ(seat.assignment.resume, world.front().assignment.resume) << "one resume point for all";
    }
    EXPECT_EQ(ranks.size(), world.size());
    EXPECT_EQ(*ranks.rbegin() + 1, world.size());
    if (seen.job.status.is_formed && seen.job.status.attempt == decision.status.attempt) return;

    // A new world.
    const auto& resume = world.front().assignment.resume;
    const Lineage from = resume ? Lineage{resume->attempt, resume->step} : Lineage{};
    EXPECT_TRUE(!resume || world_.checkpoints().contains(from)) << "resumes from what was never committed";
    EXPECT_GE(from, newest_in(seen, world)) << "a newer lineage was at hand";
    EXPECT_GE(from, resumed_) << "the run went backwards";
    if (const auto& last = decision.status.last_checkpoint) {
      EXPECT_GE(from, (Lineage{last->attempt, last->step})) << "what was reported durable is lost";
    }
    resumed_ = from;
  }

  World& world_;
  std::map<Attempt, SeatList> worlds_;
  Lineage resumed_;
};

// After the last fault: judgement of the silent (30 s when all are), Terminating pods, a rerun from the
// beginning.
constexpr int kCalmTicksMax = 600;

void live_through(std::uint64_t seed, bool is_told) {
  Dice dice(seed);
  const Scenario scenario = draw_scenario(dice);
  World world(seed, scenario);
  Laws laws(world);
  int calm_ticks = 0;
  for (int tick = 0; calm_ticks < kCalmTicksMax; ++tick) {
    const bool is_chaos = tick < scenario.chaos_ticks;
    if (!is_chaos) ++calm_ticks;
    world.advance(is_chaos);
    if (is_chaos && world.dice().percent(20)) continue;  // the operator is busy with something else
    const Decision decision = laws.decide();
    world.carry_out(decision, is_chaos);
    laws.note_stored(decision);
    if (is_told) std::cerr << world.describe();
    if (testing::Test::HasFailure()) return;
    if (is_final(world.job().status) && !is_chaos) break;
  }
  EXPECT_TRUE(is_final(world.job().status)) << "not over after " << kCalmTicksMax << " ticks without faults\n"
                                            << world.describe();
  // Of a job that is over, only pods of current members are left, on their way out.
  world.carry_out(core::reconcile(world.observe(), world.now()), false);
  for (const auto& pod : world.pods()) {
    const auto& members = world.job().status.members;
    const bool is_current = std::any_of(members.begin(), members.end(), [&](const auto& m) {
      return m.role == pod.role && m.index == pod.index && m.incarnation == pod.incarnation;
    });
    EXPECT_TRUE(is_current || pod.is_deleting || pod.has_ended()) << pod.name << " stays behind\n"
                                                                  << world.describe();
  }
}

TEST(ReconcileLaws, HoldInEveryWorldWithFaults) {
  if (const auto seed = number_from_environment("RATOON_SEED", 0); seed != 0) return live_through(seed, true);
  const std::uint64_t seeds = number_from_environment("RATOON_SEEDS", 3000);
  const std::uint64_t first = number_from_environment("RATOON_FIRST_SEED", 1);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("RATOON_SEED=" + std::to_string(seed));
    live_through(seed, false);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace ratoon::sim
