// The laws of the core, over thousands of small worlds with faults. A failure names its seed:
//   RATOON_SEED=1234 reconcile_laws_test        repeats it and tells what happened
//   RATOON_SEEDS=100000 reconcile_laws_test     digs deeper, from RATOON_FIRST_SEED on
//   RATOON_SHARD=2 RATOON_SHARDS=4              looks at a share of them, so that all cores have one
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/property/operator/environment.h"
#include "tests/property/operator/laws.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::reconcile_laws_test {
namespace {

// After the last fault: judgement of the silent (30 s when all are), nodes that the platform gives up,
// Terminating pods, a rerun from the beginning.
constexpr int kCalmTicksMax = 900;
// Of a rest: a world that saves for as long as it may, then pods on their way out, some on dead nodes.
constexpr int kRestTicks = 330;
// Of a job that is over: the same, and its time to live.
constexpr int kAfterlifeTicks = 330;
// In which nothing happens any more.
constexpr int kQuietTicks = 20;

// A world, who looks at it, and how a story goes on in it.
class Story {
 public:
  Story(std::uint64_t seed, const Scenario& scenario, bool is_told, Tally& tally)
      : world_(seed, scenario), laws_(world_, tally), tally_(tally), is_told_(is_told) {}

  void live() {
    const Scenario& scenario = world_.scenario();
    for (int tick = 0; tick < scenario.chaos_ticks && !is_broken(); ++tick) pass(true);
    if (scenario.policies.rests) rest();
    world_.suspend(false);
    for (int tick = 0; tick < kCalmTicksMax && !is_over() && !is_broken(); ++tick) pass(false);
    if (is_broken()) return;
    EXPECT_TRUE(is_over()) << "not over after " << kCalmTicksMax << " ticks without faults\n"
                           << world_.describe();
    leave();
  }

 private:
  [[nodiscard]] static bool is_broken() { return testing::Test::HasFailure(); }
  [[nodiscard]] bool is_over() const { return api::is_over(world_.job().status.phase); }

  // A tick of everybody. Nothing is decided while the operator is gone, or busy with something else.
  std::optional<core::Decision> pass(bool is_chaos) {
    world_.advance(is_chaos);
    if (world_.is_operator_down() || world_.is_job_gone() || (is_chaos && world_.dice().percent(20)))
      return std::nullopt;
    before_ = world_.job().status;
    core::Decision decision = laws_.decide();
    world_.carry_out(decision, is_chaos);
    laws_.note_stored(decision, before_);
    laws_.check_agents();
    if (is_told_) tell(decision);
    return decision;
  }

  void tell(const core::Decision& decision) const {
    for (const auto& action : decision.actions)
      if (const auto* event = std::get_if<core::EmitEvent>(&action)) std::cerr << event->message << "\n";
    std::cerr << world_.describe();
  }

  void be_quiet() {
    for (int tick = 0; tick < kQuietTicks && !is_broken(); ++tick)
      if (const auto decision = pass(false)) laws_.check_quiet(*decision, before_);
  }

  // Its owner leaves it suspended: nobody lives, and nothing is written.
  void rest() {
    world_.suspend(true);
    for (int tick = 0; tick < kRestTicks && !is_broken(); ++tick) pass(false);
    if (is_over() || is_broken()) return;
    EXPECT_EQ(world_.job().status.phase, api::JobPhase::kSuspended);
    for (const auto& pod : world_.pods())
      EXPECT_TRUE(pod.is_deleting || (pod.has_ended() && !pod.others_run)) << pod.name << " lives\n"
                                                                           << world_.describe();
    ++tally_.rests;
    be_quiet();
    if (world_.scenario().policies.is_resized) world_.resize();
    pass(false);
  }

  // What is left of a job that is over: its members' last words, then nothing that changes.
  void leave() {
    for (int tick = 0; tick < kAfterlifeTicks && !is_broken(); ++tick) pass(false);
    const auto& ttl = world_.scenario().policies.ttl_seconds;
    EXPECT_EQ(world_.is_job_gone(), ttl.has_value()) << "its time to live is over";
    if (world_.is_job_gone()) {
      ++tally_.deletions;
      EXPECT_TRUE(world_.pods().empty()) << "outlives its job\n" << world_.describe();
      return;
    }
    for (const auto& pod : world_.pods())
      EXPECT_TRUE((pod.has_ended() && !holds_on(pod)) || is_members(pod)) << pod.name << " stays behind\n"
                                                                          << world_.describe();
    be_quiet();
  }

  [[nodiscard]] bool holds_on(const api::Pod& pod) const {
    const bool may_stay = world_.job().spec.clean_pod_policy == api::CleanPodPolicy::kNone && is_members(pod);
    return pod.others_run && !pod.is_deleting && !may_stay;
  }

  // One of a member may be on a node that died.
  [[nodiscard]] bool is_members(const api::Pod& pod) const {
    const auto& members = world_.job().status.members;
    return std::any_of(members.begin(), members.end(), [&](const auto& m) {
      return m.role == pod.role && m.index == pod.index &&
             (m.incarnation == pod.incarnation || m.successor == pod.incarnation);
    });
  }

  World world_;
  Laws laws_;
  api::TrainingJobStatus before_;  // what the last decision found
  Tally& tally_;
  bool is_told_;
};

Scenario scenario_of(std::uint64_t seed, bool has_policies) {
  Dice dice(seed);
  Scenario scenario = draw_scenario(dice);
  if (has_policies) scenario.policies = draw_policies(Dice(~seed));
  return scenario;
}

TEST(ReconcileLaws, HoldInEveryWorldWithFaults) {
  Tally tally;
  if (const auto seed = number_from_environment("RATOON_SEED", 0); seed != 0)
    return Story(seed, scenario_of(seed, true), true, tally).live();
  const std::uint64_t shards = number_from_environment("RATOON_SHARDS", 1);
  const std::uint64_t first = number_from_environment("RATOON_FIRST_SEED", 1);
  const std::uint64_t end = first + number_from_environment("RATOON_SEEDS", test::afforded(2000));
  std::uint64_t seeds = 0;
  for (std::uint64_t seed = first + number_from_environment("RATOON_SHARD", 0); seed < end; seed += shards) {
    ++seeds;
    SCOPED_TRACE("RATOON_SEED=" + std::to_string(seed));
    Story(seed, scenario_of(seed, true), false, tally).live();
    if (HasFailure()) return;
  }
  std::cout << seeds << " worlds, " << tally.decisions << " decisions; " << tally.smaller_worlds
            << " worlds with fewer members, " << tally.larger_worlds << " decisions about larger ones, "
            << tally.hangs << " hangs, " << tally.growths << " that grew, " << tally.held << " silent zones, "
            << tally.rests << " rests, " << tally.failures << " jobs failed, " << tally.ignored
            << " failures of roles that fail no job, " << tally.deletions
            << " jobs deleted when their time was up\n";
  EXPECT_GE(tally.smaller_worlds, seeds / 100) << "few jobs ever shrank: look at draw_scenario()";
  EXPECT_GE(tally.larger_worlds, seeds / 2) << "few jobs were ever larger than they asked for";
  EXPECT_GE(tally.hangs, seeds / 100) << "few hangs were ever found: look at trouble_for()";
  EXPECT_GE(tally.held, seeds / 100) << "few zones ever fell silent: look at cut_zone()";
  EXPECT_GE(tally.growths, seeds / 200) << "few jobs ever grew again";
  EXPECT_GE(tally.rests, seeds / 20) << "few jobs ever rested: look at draw_policies()";
  EXPECT_GE(tally.failures, seeds / 100) << "few jobs ever failed";
  EXPECT_LE(tally.failures, seeds / 2) << "most jobs failed";
  EXPECT_GE(tally.ignored, seeds / 200) << "few failures were ever ignored";
  EXPECT_GE(tally.deletions, seeds / 5) << "few jobs had a time to live";
}

struct Broken {
  std::uint64_t seed;
  bool has_policies;
  const char* what;
};

// Worlds in which a law was broken once.
TEST(ReconcileLaws, HoldInWorldsThatBrokeThem) {
  Tally tally;
  for (const Broken& broken : {
           Broken{50685, false, "those who wait began to before the commit, and who committed is gone"},
           Broken{7, true, "nobody woke when a node was avoided no more"},
           Broken{10, true, "nobody woke when a pause ended in a rest"},
           Broken{23, true, "a job made smaller and larger again took the end of a former pod for a loss"},
           Broken{26, true, "nobody woke when too few were left to go on with fewer"},
           Broken{72, true, "a node that came to light with the silence on it was not avoided"},
           Broken{151, true,
                  "members of a world that trained were made anew, since the view showed no nodes"},
           Broken{690, true, "nobody woke when the time to live was over with the job itself"},
           Broken{914, true,
                  "only one that the last world left out was a member still, and it was a success"},
           Broken{11191, true, "of two in a stalled world the first ended by itself, and nobody paid"},
           Broken{3558, true, "a pod that was replaced in this look was told as one that no node takes"},
           Broken{5708, true, "nobody judged silence anew when a node was a suspect no more"},
           Broken{3004001, true, "the silence of a former member's pod was counted for a new one"},
           Broken{1783, true, "nobody woke when a world that drained had made no step for too long"},
           Broken{54863, true, "who was done already was told, a look late, that its pod goes"},
           Broken{50370, true, "the law took pods of a size that is no more for voices"},
           Broken{84483, true, "a rest of another size was done, and nobody looked"},
           Broken{547748, true, "a pod that goes with a rest was news of who is placed"},
           Broken{616944, true, "a pod that nobody placed yet was the only one, and all were placed"},
           Broken{751264, true, "the same after another rest"},
           Broken{778445, true,
                  "who had fallen silent in a collective was taken for stuck once its peers were done"},
           Broken{120044, true, "the law did not hear who trains on in a pod that is deleted with grace"},
       }) {
    SCOPED_TRACE("seed " + std::to_string(broken.seed) + ": " + broken.what);
    Scenario scenario = scenario_of(broken.seed, broken.has_policies);
    scenario.policies.remakes_pods = false;  // as they were then
    Story(broken.seed, scenario, false, tally).live();
  }
}

}  // namespace
}  // namespace ratoon::sim::reconcile_laws_test
