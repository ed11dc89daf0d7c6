// The law of releaseAfterSeconds for jobs that compete: with nodes for one of them at a time, all jobs end.
// Without the field, jobs that each got a part of the nodes wait for each other for ever.
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/property/operator/environment.h"
#include "tests/property/operator/laws.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::release_laws_test {
namespace {

constexpr int kTicksMax = 6000;            // 50 minutes
constexpr int kTicksWithoutRelease = 600;  // enough for jobs that do not wait for each other
constexpr std::uint64_t kApart = 0x2545f4914f6cdd1dULL;

// A job of several, all of which use the nodes of the first one.
struct Job {
  Job(std::uint64_t seed, const Scenario& scenario, Tally& tally)
      : world(Moves(seed), scenario), laws(world, tally) {}

  [[nodiscard]] bool is_over() const { return api::is_over(world.job().status.phase); }
  void pass() {
    world.advance(false);
    const api::TrainingJobStatus before = world.job().status;
    const core::Decision decision = laws.decide();
    world.carry_out(decision, false);
    laws.note_stored(decision, before);
  }

  World world;
  Laws laws;
};

enum class Release { kNever, kSometime };

class Competition {
 public:
  // Each job has one or more members, and the nodes suffice for the largest job alone.
  Competition(std::uint64_t seed, Release release, Tally& tally) {
    Dice dice(seed);
    const std::uint64_t count = 2 + dice.below(2);
    std::vector<Scenario> scenarios;
    std::uint64_t nodes = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      Scenario job;
      job.members = static_cast<std::uint32_t>(2 + dice.below(3));
      job.has_losses = job.has_notice = job.loses_operator = job.is_suspended_at_times = false;
      job.total_steps = 10 + dice.below(20);
      job.follows_nodes = i > 0;
      job.policies.places_per_node = 1;
      job.policies.has_fixed_nodes = job.policies.tells_avoided_nodes = true;
      if (release == Release::kSometime)
        job.policies.release_after_seconds = static_cast<std::uint32_t>(1 + dice.below(20));
      nodes = std::max<std::uint64_t>(nodes, job.members);
      scenarios.push_back(job);
    }
    scenarios.front().nodes = nodes;
    for (std::uint64_t i = 0; i < count; ++i) {
      jobs_.push_back(std::make_unique<Job>(seed + kApart * i, scenarios[i], tally));
      jobs_.back()->world.set_job_uid("job-" + std::to_string(seed) + "-" + std::to_string(i));
      if (i > 0) jobs_.back()->world.follow_nodes(jobs_.front()->world);
    }
  }

  [[nodiscard]] bool ends_within(int ticks) {
    for (int tick = 0; tick < ticks && !testing::Test::HasFailure(); ++tick) {
      bool are_all_over = true;
      for (auto& job : jobs_) {
        job->world.note_pods_of_others(count_pods_of_others(*job));
        job->pass();
        are_all_over = are_all_over && job->is_over();
      }
      if (are_all_over) return true;
    }
    return false;
  }
  [[nodiscard]] bool has_failed() const {
    for (const auto& job : jobs_)
      if (job->world.job().status.phase == api::JobPhase::kFailed) return true;
    return false;
  }
  [[nodiscard]] std::string describe() const {
    std::string text;
    for (const auto& job : jobs_) text += job->world.describe();
    return text;
  }

 private:
  [[nodiscard]] std::map<std::string, std::size_t> count_pods_of_others(const Job& own) const {
    std::map<std::string, std::size_t> counts;
    for (const auto& job : jobs_) {
      if (job.get() == &own) continue;
      for (const auto& pod : job->world.pods())
        if (!pod.node.empty() && (!pod.has_ended() || pod.has_running_sidecars)) ++counts[pod.node];
    }
    return counts;
  }

  std::vector<std::unique_ptr<Job>> jobs_;
};

TEST(ReleaseLaws, JobsThatCompeteForNodesAllEnd) {
  Tally tally;
  const Seeds all = seeds_of_this_run(test::afforded(300), "release_laws_test");
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(all.replay(seed));
    Competition jobs(seed, Release::kSometime, tally);
    EXPECT_TRUE(jobs.ends_within(kTicksMax)) << "they wait for each other\n" << jobs.describe();
    EXPECT_FALSE(jobs.has_failed()) << jobs.describe();
    if (HasFailure()) return;
  }
  std::cout << all.count() << " competitions, " << tally.releases << " releases\n";
  EXPECT_TRUE(all.count() < kEnoughToCount || tally.releases >= all.count() / 4)
      << "few jobs ever had to free nodes";
}

// The law above is worth its name only if there is something to free the jobs from.
TEST(ReleaseLaws, WithoutAReleaseSomeWaitForEver) {
  Tally tally;
  std::uint64_t stuck = 0;
  for (std::uint64_t seed = 1; seed <= 10 && stuck == 0; ++seed)
    if (Competition jobs(seed, Release::kNever, tally); !jobs.ends_within(kTicksWithoutRelease)) ++stuck;
  EXPECT_GT(stuck, 0U);
  EXPECT_EQ(tally.releases, 0U);
}

}  // namespace
}  // namespace ratoon::sim::release_laws_test
