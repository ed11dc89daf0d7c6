// The laws of the core, over thousands of small worlds with faults. A failure says how to replay it:
//   RATOON_SEED=1234 reconcile_laws_test                    repeats it and tells what happened
//   RATOON_SEED=1234 RATOON_KEEP=a.story reconcile_laws_test   and writes down its moves (moves.h)
//   RATOON_STORY=a.story reconcile_laws_test                lets the same moves happen; shorten_story.py
//   leaves out
//                                                           those that the failure does not need
// environment.h says which seeds are looked at.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/property/operator/environment.h"
#include "tests/property/operator/laws.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::reconcile_laws_test {
namespace {

// The time after the last fault: judgement of silent members (30 s if all are silent), nodes that the
// platform gives up, Terminating pods, a rerun from the beginning.
constexpr int kCalmTicksMax = 900;
// The time of a suspension: a world that saves for as long as it may, then pods that are being deleted, some
// on dead nodes.
constexpr int kRestTicks = 330;
// More time of each kind if saves take long: that many saves one after the other.
constexpr int kSavesInCalm = 8;
constexpr int kSavesInRest = 3;
// The time for a job that is over: the same, and its time to live.
constexpr int kAfterlifeTicks = 330;
// The time in which no event happens any more.
constexpr int kQuietTicks = 20;
// With fewer worlds, the number of events depends on chance.
constexpr std::uint64_t kEnoughForRareEvents = 1000;

// A world, its operator, and the course of a story in it.
class Story {
 public:
  Story(Moves moves, const Scenario& scenario, bool is_told, Tally& tally)
      : world_(std::move(moves), scenario), laws_(world_, tally), tally_(tally), is_told_(is_told) {}

  [[nodiscard]] const World& world() const { return world_; }

  void live() {
    const Scenario& scenario = world_.scenario();
    for (int tick = 0; tick < scenario.chaos_ticks && !is_broken(); ++tick) pass(true);
    if (scenario.policies.rests) rest();
    world_.suspend(false);
    const int calm = kCalmTicksMax + ticks_of_saves(kSavesInCalm) + ticks_of_releases();
    for (int tick = 0; tick < calm && !is_over() && !is_broken(); ++tick) pass(false);
    tally_.rejections += world_.pods_rejected();
    if (is_broken()) return;
    EXPECT_TRUE(is_over()) << "not over after " << calm << " ticks without faults\n" << world_.describe();
    leave();
  }

 private:
  [[nodiscard]] static bool is_broken() { return testing::Test::HasFailure(); }
  [[nodiscard]] int ticks_of_saves(int saves) const {
    const auto save = std::chrono::seconds(world_.scenario().policies.save_seconds);
    return saves * static_cast<int>(save / kTick);
  }
  // The longest pause after a release, and as much time until the next one.
  [[nodiscard]] int ticks_of_releases() const {
    constexpr int kLongestPauses = 16;
    const auto limit = std::chrono::seconds(world_.scenario().policies.release_after_seconds);
    return kLongestPauses * static_cast<int>(limit / kTick);
  }
  [[nodiscard]] bool is_over() const { return api::is_over(world_.job().status.phase); }

  // A tick of all parts. No decision is made while the operator is gone, or busy.
  std::optional<core::Decision> pass(bool is_chaos) {
    world_.advance(is_chaos);
    if (world_.is_operator_down() || world_.is_job_gone() || (is_chaos && world_.moves().percent("busy", 20)))
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

  // The owner leaves the job suspended: no process lives, and nothing is written.
  void rest() {
    world_.suspend(true);
    const int ticks = kRestTicks + ticks_of_saves(kSavesInRest);
    for (int tick = 0; tick < ticks && !is_broken(); ++tick) pass(false);
    if (is_over() || is_broken()) return;
    EXPECT_EQ(world_.job().status.phase, api::JobPhase::kSuspended);
    for (const auto& pod : world_.pods())
      EXPECT_TRUE(pod.has_ended() && !pod.has_running_sidecars) << pod.name << " lives\n"
                                                                << world_.describe();
    ++tally_.rests;
    be_quiet();
    if (world_.scenario().policies.is_resized) world_.resize();
    pass(false);
  }

  // The remains of a job that is over: its members' last messages, then no further change.
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
    return pod.has_running_sidecars && !pod.is_deleting && !may_stay;
  }

  // One pod of a member may be on a node that died.
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

Scenario draw_all(Moves& moves) {
  Scenario scenario = draw_scenario(moves);
  scenario.policies = draw_policies(moves);
  return scenario;
}

// The story is printed as it happens, and its moves are kept on request.
void live_through(Moves moves, Tally& tally) {
  const Scenario scenario = draw_all(moves);
  Story story(std::move(moves), scenario, true, tally);
  story.live();
  if (const char* path = std::getenv("RATOON_KEEP")) std::ofstream(path) << story.world().moves().story();
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ReconcileLaws, HoldInEveryWorldWithFaults) {
  Tally tally;
  if (const char* path = std::getenv("RATOON_STORY")) {
    auto moves = Moves::read(text_of(path));
    ASSERT_TRUE(moves) << moves.error().message();
    return live_through(*std::move(moves), tally);
  }
  const Seeds all = seeds_of_this_run(test::afforded(1600), "reconcile_laws_test");
  if (all.is_one()) return live_through(Moves(*all.begin(), Moves::Keeps::kAll), tally);
  const std::uint64_t seeds = all.count();
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(all.replay(seed));
    Moves moves(seed);
    const Scenario scenario = draw_all(moves);
    Story(std::move(moves), scenario, false, tally).live();
    if (HasFailure()) return;
  }
  std::cout << seeds << " worlds, " << tally.decisions << " decisions; " << tally.smaller_worlds
            << " worlds with fewer members, " << tally.larger_worlds << " decisions about larger ones, "
            << tally.hangs << " hangs, " << tally.growths << " that grew, " << tally.held << " silent zones, "
            << tally.rests << " rests, " << tally.failures << " jobs failed, " << tally.rejections
            << " pods that kubelets did not start, " << tally.unreachable
            << " members that others could not reach, " << tally.ignored
            << " failures of roles that fail no job, " << tally.older_points << " worlds from older points, "
            << tally.taken_back << " members done in vain, " << tally.deletions
            << " jobs deleted when their time was up\n";
  if (seeds < kEnoughForRareEvents) return;
  EXPECT_GE(tally.smaller_worlds, seeds / 100) << "few jobs ever shrank: look at draw_scenario()";
  EXPECT_GE(tally.larger_worlds, seeds / 2) << "few jobs were ever larger than they asked for";
  EXPECT_GE(tally.hangs, seeds / 200) << "few hangs were ever found: look at trouble_for()";
  EXPECT_GE(tally.held, seeds / 100) << "few zones ever fell silent: look at cut_zone()";
  EXPECT_GE(tally.growths, seeds / 200) << "few jobs ever grew again";
  EXPECT_GE(tally.rests, seeds / 20) << "few jobs ever rested: look at draw_policies()";
  EXPECT_GE(tally.failures, seeds / 100) << "few jobs ever failed";
  EXPECT_LE(tally.failures, seeds / 2) << "most jobs failed";
  EXPECT_GE(tally.rejections, seeds / 20) << "few pods were ever rejected: look at move_pods()";
  EXPECT_GE(tally.ignored, seeds / 200) << "few failures were ever ignored";
  EXPECT_GE(tally.deletions, seeds / 5) << "few jobs had a time to live";
  EXPECT_GE(tally.unreachable, seeds / 100) << "few members were ever cut off: look at cut_link()";
  EXPECT_GE(tally.older_points, seeds / 400) << "few checkpoints were ever lost: look at draw_storage()";
}

// A completion that contradicts a known commit ends no job, whatever else is lost or handed over. Damage, and
// disks of nodes, would take back commits that are known.
TEST(ReconcileLaws, HoldWhereTrainersEndWithoutTheLastCheckpoint) {
  if (std::getenv("RATOON_STORY") != nullptr) return;
  constexpr std::uint64_t kShare = 10;  // of the worlds of the law above, in each shard
  Tally tally;
  std::uint64_t worlds = 0;
  std::uint64_t wrong = 0;
  const Seeds all = seeds_of_this_run(test::afforded(1600), "reconcile_laws_test");
  for (const std::uint64_t seed : all) {
    if (!all.is_one() && seed / 4 % kShare != 0) continue;
    SCOPED_TRACE(all.replay(seed));
    Moves moves(seed);
    Scenario scenario = draw_all(moves);
    scenario.has_wrong_completions = true;
    scenario.has_damage = false;
    scenario.tiers = Tiers::kVolume;
    Story story(std::move(moves), scenario, all.is_one(), tally);
    story.live();
    if (HasFailure()) return;
    ++worlds;
    wrong += story.world().wrong_completions();
  }
  std::cout << worlds << " worlds, " << wrong << " wrong completions\n";
  if (worlds < kEnoughForRareEvents / kShare) return;
  EXPECT_GE(wrong, worlds / 8) << "few trainers ever ended early";
}

// Members stand for longer than a member may be silent, before or after their first call, beside all other
// faults.
TEST(ReconcileLaws, HoldWhereMembersStartInOverload) {
  if (std::getenv("RATOON_STORY") != nullptr) return;
  constexpr std::uint64_t kShare = 10;  // of the worlds of the first law, in each shard
  Tally tally;
  std::uint64_t worlds = 0;
  std::uint64_t slow = 0;
  const Seeds all = seeds_of_this_run(test::afforded(1600), "reconcile_laws_test");
  for (const std::uint64_t seed : all) {
    if (!all.is_one() && seed / 4 % kShare != 1) continue;
    SCOPED_TRACE(all.replay(seed));
    Moves moves(seed);
    Scenario scenario = draw_all(moves);
    scenario.starts_in_overload = true;
    Story story(std::move(moves), scenario, all.is_one(), tally);
    story.live();
    if (HasFailure()) return;
    ++worlds;
    slow += story.world().slow_starts();
  }
  std::cout << worlds << " worlds, " << slow << " slow starts\n";
  if (worlds < kEnoughForRareEvents / kShare) return;
  EXPECT_GE(slow, worlds) << "few members ever started slowly";
}

// No node is added while faults happen, and most jobs free their nodes when they lack others.
TEST(ReconcileLaws, HoldWhereNodesAreScarce) {
  if (std::getenv("RATOON_STORY") != nullptr) return;
  constexpr std::uint64_t kShare = 5;  // of the worlds of the first law, in each shard
  Tally tally;
  std::uint64_t worlds = 0;
  const Seeds all = seeds_of_this_run(test::afforded(1600), "reconcile_laws_test");
  for (const std::uint64_t seed : all) {
    if (!all.is_one() && seed / 4 % kShare != 2) continue;
    SCOPED_TRACE(all.replay(seed));
    Moves moves(seed);
    Scenario scenario = draw_all(moves);
    make_nodes_scarce(seed, scenario.policies);
    Story(std::move(moves), scenario, all.is_one(), tally).live();
    if (HasFailure()) return;
    ++worlds;
  }
  std::cout << worlds << " worlds, " << tally.releases << " releases of nodes, " << tally.requests
            << " requests after one, " << tally.hurried << " at once for another spec\n";
  if (worlds < kEnoughForRareEvents / kShare) return;
  EXPECT_GE(tally.releases, worlds / 10) << "few jobs ever freed their nodes: look at make_nodes_scarce()";
  EXPECT_GE(tally.requests, worlds / 10) << "few jobs ever asked for nodes again";
  EXPECT_GE(tally.hurried, worlds / 100) << "few specs were ever changed during a pause";
}

// Each story is the shortest list of moves that led to a fault of the core, or of a law, which its first
// lines describe.
TEST(ReconcileLaws, HoldInTheStoriesOfPastFaults) {
  if (number_from_environment("RATOON_SHARD", 0) != 0) return;  // the first share has all stories
  std::size_t stories = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/property/operator/stories")) {
    SCOPED_TRACE("replay it: RATOON_STORY=" + entry.path().string() + " reconcile_laws_test");
    auto moves = Moves::read(text_of(entry.path()));
    ASSERT_TRUE(moves) << moves.error().message();
    Tally tally;
    const Scenario scenario = draw_all(*moves);
    Story(*std::move(moves), scenario, false, tally).live();
    ++stories;
  }
  EXPECT_GT(stories, 0U) << "the stories are not where they are looked for";
}

// The moves that a world drew give the same world when they are replayed.
TEST(ReconcileLaws, AStoryThatIsToldIsTheOneThatWasDrawn) {
  if (number_from_environment("RATOON_SHARD", 0) != 0) return;
  Tally tally;
  for (std::uint64_t seed = 1; seed <= test::afforded(40); ++seed) {
    Moves moves(seed, Moves::Keeps::kAll);
    Scenario scenario = draw_all(moves);
    Story drawn(std::move(moves), scenario, false, tally);
    drawn.live();
    auto again = Moves::read(drawn.world().moves().story());
    ASSERT_TRUE(again) << again.error().message();
    scenario = draw_all(*again);
    Story told(*std::move(again), scenario, false, tally);
    told.live();
    EXPECT_EQ(told.world().describe(), drawn.world().describe()) << "seed " << seed;
  }
}

TEST(Moves, AreReadOrRefusedWithTheLine) {
  auto moves = Moves::read("# a fault\n\n0 members 3\n2 dies node-1 #2 1\n");
  ASSERT_TRUE(moves);
  EXPECT_EQ(moves->below("members", 8), 3U);
  EXPECT_EQ(moves->below("nodes", 8), 0U) << "what is not told is as plain as can be";
  moves->begin_moment();
  moves->begin_moment();
  EXPECT_FALSE(moves->percent("dies", "node-1", 99));
  EXPECT_TRUE(moves->percent("dies", "node-1", 1)) << "the second of that name";
  for (const char* bad : {"members 3", "0 members", "0 members three", "x members 3"})
    EXPECT_NE(Moves::read("# a\n" + std::string(bad)).error().message().find("line 2"), std::string::npos)
        << bad;
}

}  // namespace
}  // namespace ratoon::sim::reconcile_laws_test
