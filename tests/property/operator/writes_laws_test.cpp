// The laws of an operator that uses an API server: the controller, the cluster, its copy and its client as
// they ship, over a server that refuses writes and delays news, and over operators that end or lose the lease
// between any two writes while another goes on. A failure prints how to replay it; environment.h explains
// which seeds are tested.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/property/operator/environment.h"
#include "tests/property/operator/laws.h"
#include "tests/property/operator/writes_story.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::writes_laws_test {
namespace {

using Server = SimulatedCluster::Server;

constexpr std::uint64_t kHeld = 0x5851f42d4c957f2dULL;  // another stream of choices

// For programs without the agent the server refuses fields that only the agent can implement.
void make_group(Scenario& scenario) {
  scenario.has_agent = false;
  scenario.processes_per_node = 1;
  scenario.members_min = 0;
  scenario.progress_deadline_seconds = 0;
}

// The pure core accepts values that the server would have refused when the job was made: exit codes from 80
// to 86 have a meaning of their own.
Scenario scenario_of(Moves& moves, bool holds_pods, bool has_agent = true) {
  Scenario scenario = draw_scenario(moves);
  if (!has_agent) make_group(scenario);
  scenario.policies = draw_policies(moves);
  scenario.policies.has_late_watches = false;  // the server's own are
  scenario.tiers = Tiers::kVolume;             // what is resumed is the core's own matter
  scenario.policies.save_seconds = 0;          // as is how long a save may take
  scenario.has_damage = false;
  scenario.policies.remakes_pods = false;  // creations that come late do
  scenario.policies.tells_avoided_nodes = true;
  scenario.policies.holds_pods = holds_pods;
  for (auto& rule : scenario.policies.rules)
    std::erase_if(rule.exit_codes, [](auto code) { return code >= 80 && code <= 86; });
  std::erase_if(scenario.policies.rules, [](const auto& rule) {
    return rule.exit_codes.empty() && rule.signals.empty() && rule.reasons.empty();
  });
  return scenario;
}

// In some worlds nodes are scarce.
void draw_scarcity(std::uint64_t seed, Scenario& scenario) {
  if (seed % 4 == 0) make_nodes_scarce(seed, scenario.policies);
}

Scenario scenario_of(std::uint64_t seed, bool has_agent = true) {
  Moves moves(seed);
  Scenario scenario = scenario_of(moves, Dice(seed + kHeld).percent(50), has_agent);
  draw_scarcity(seed, scenario);
  return scenario;
}

// A story has a world with the agent, unless it says otherwise.
void tell(const Moves& told, bool is_loud) {
  const Choices choices{.told = told};
  Moves moves = choices.stream(0);
  const bool has_agent = !moves.percent("without-agent", 50);
  const bool holds_pods = moves.percent("holds-pods", 50);
  WritesStory(choices, {scenario_of(moves, holds_pods, has_agent)}, is_loud).live();
}

// The moves of the story are written into a file on request.
void live_through_one(std::uint64_t seed, bool has_agent) {
  const Choices choices{.seed = seed, .keeps = Moves::Keeps::kAll};
  Moves moves = choices.stream(seed);
  const bool holds_pods = Dice(seed + kHeld).percent(50);
  Scenario scenario = scenario_of(moves, holds_pods, has_agent);
  draw_scarcity(seed, scenario);
  WritesStory story(choices, {scenario}, true);
  story.live();
  const char* path = std::getenv("RATOON_KEEP");
  if (path == nullptr) return;
  std::ofstream file(path);
  if (!has_agent) file << "0 without-agent 1\n";
  if (holds_pods) file << "0 holds-pods 1\n";
  file << moves.story() << story.cluster().story();
}

Moves read_story(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  auto moves = Moves::read(text.str());
  if (!moves) throw std::runtime_error(path.string() + ": " + moves.error().message());
  return *std::move(moves);
}

void live_through_worlds(bool has_agent) {
  if (const char* path = std::getenv("RATOON_STORY")) return tell(read_story(path), true);
  const Seeds all = seeds_of_this_run(test::afforded(50), "writes_laws_test");
  if (all.is_one()) return live_through_one(*all.begin(), has_agent);
  SimulatedCluster::Tally sum;
  std::uint64_t seeds = 0;
  std::uint64_t leaders = 0;
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(all.replay(seed));
    WritesStory story({.seed = seed}, {scenario_of(seed, has_agent)}, false);
    story.live();
    if (testing::Test::HasFailure()) return;
    const auto& one = story.cluster().tally();
    ++seeds;
    leaders += story.leaders();
    sum.writes += one.writes;
    sum.conflicts += one.conflicts;
    sum.changed_pods += one.changed_pods;
    sum.exist_already += one.exist_already;
    sum.refusals += one.refusals;
    sum.lost_answers += one.lost_answers;
    sum.complaints += one.complaints;
    sum.late += one.late;
    sum.cut_short += one.cut_short;
  }
  std::cout << seeds << " worlds, " << leaders << " leaders, " << sum.writes << " writes, " << sum.conflicts
            << " conflicts, " << sum.changed_pods << " pods that had changed, " << sum.exist_already
            << " pods that existed, " << sum.refusals << " refusals, " << sum.lost_answers
            << " lost answers, " << sum.late << " writes that came late, " << sum.complaints
            << " complaints about a job that cannot be read, " << sum.cut_short << " decisions cut short\n";
  if (seeds < 4 * kEnoughToCount) return;
  for (const auto count : {sum.conflicts, sum.changed_pods, sum.exist_already, sum.refusals, sum.lost_answers,
                           sum.late, sum.cut_short})
    EXPECT_GE(count, seeds / 10) << "a fault is drawn too seldom";
}

TEST(WritesLaws, HoldOverAServerThatIsInTheWay) {
  live_through_worlds(true);
}

TEST(WritesLaws, HoldForProgramsWithoutTheAgent) {
  live_through_worlds(false);
}

// Each story is the shortest list of moves by which a fault of the code between a decision and the server
// breaks a law; its first lines name the fault.
TEST(WritesLaws, HoldInTheStories) {
  std::size_t stories = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/property/operator/stories_of_writes")) {
    SCOPED_TRACE("replay it: RATOON_STORY=" + entry.path().string() +
                 " writes_laws_test --gtest_filter=*ServerThatIsInTheWay");
    tell(read_story(entry.path()), false);
    ++stories;
  }
  EXPECT_GT(stories, 0U) << "the stories are not where they are looked for";
}

enum class Nodes { kShared, kOwn };

// Two or three jobs of one operator, which ends when the first of their worlds decides it.
std::vector<Scenario> several_jobs(std::uint64_t seed, Nodes nodes) {
  constexpr std::uint64_t kNext = 0x9e3779b97f4a7c15ULL;
  std::vector<Scenario> jobs;
  const std::uint64_t count = 2 + Dice(seed).below(2);
  while (jobs.size() < count) {
    Scenario job = scenario_of(seed + kNext * jobs.size(), Dice(seed + jobs.size()).percent(80));
    if (nodes == Nodes::kShared) job.has_losses = true;
    if (!jobs.empty()) {
      job.job_name += "-" + std::to_string(jobs.size() + 1);
      job.names_nodes = job.job_name + "-node-";
      job.loses_operator = false;
      job.policies.holds_pods = jobs.front().policies.holds_pods;  // the server's matter, for all pods
      job.follows_nodes = nodes == Nodes::kShared;
      if (job.follows_nodes) job.has_notice = false;  // the first gives it
      if (job.follows_nodes) job.policies.zones = jobs.front().policies.zones;
    }
    jobs.push_back(job);
  }
  return jobs;
}

// Several worlds cost several times as much, so only a part of the seeds is run.
bool is_left_out(const Seeds& all, std::uint64_t seed) {
  return !all.is_one() && seed % 5 != 0;
}

TEST(WritesLaws, HoldForSeveralJobsOnTheSameNodes) {
  const Seeds all = seeds_of_this_run(test::afforded(50), "writes_laws_test");
  std::uint64_t worlds = 0;
  std::uint64_t shared = 0;
  for (const std::uint64_t seed : all) {
    if (is_left_out(all, seed)) continue;
    SCOPED_TRACE(all.replay(seed));
    // A server that delays calls excuses for a while that the operator makes no decision.
    const auto server = Dice(~seed).percent(50) ? Server::kIsCalm : Server::kIsInTheWay;
    WritesStory story({.seed = seed}, several_jobs(seed, Nodes::kShared), all.is_one(), server);
    story.live();
    if (HasFailure()) return;
    ++worlds;
    shared += story.has_shared_a_node() ? 1 : 0;
  }
  std::cout << worlds << " worlds, in " << shared << " were pods of two jobs on one node\n";
  EXPECT_GE(shared, worlds / 4) << "few jobs ever met: look at World::place()";
}

// The jobs share only the operator: the events and decisions of the first job are as if it were alone.
TEST(WritesLaws, TroubleOfAJobChangesNothingForOneOnOtherNodes) {
  const Seeds all = seeds_of_this_run(test::afforded(50), "writes_laws_test");
  for (const std::uint64_t seed : all) {
    if (is_left_out(all, seed)) continue;
    SCOPED_TRACE(all.replay(seed));
    const auto jobs = several_jobs(seed, Nodes::kOwn);
    WritesStory alone({.seed = seed}, {jobs.front()}, false, Server::kIsCalm);
    alone.live();
    WritesStory beside({.seed = seed}, jobs, all.is_one(), Server::kIsCalm);
    beside.live();
    if (HasFailure()) return;
    const auto& one = alone.past_of_first();
    const auto& other = beside.past_of_first();
    const auto [at, there] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    if (at == one.end() || there == other.end()) continue;
    FAIL() << "tick " << at - one.begin() << ", alone: " << *at << "\nbeside others: " << *there;
  }
}

}  // namespace
}  // namespace ratoon::sim::writes_laws_test
