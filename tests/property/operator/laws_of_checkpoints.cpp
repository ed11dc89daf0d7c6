// Laws about checkpoints: the checkpoint that a world resumes, and the checkpoints that were reported
// durable.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "tests/property/operator/laws.h"

namespace ratoon::sim {
namespace {

// The checkpoints that each seated process found when it asked to join.
struct Found {
  std::map<Lineage, std::size_t> sound;  // and how many found it
  std::set<Lineage> shared;
  std::set<Lineage> bad;  // as one of them said
  std::size_t asked = 0;
};

Found found_by(const World& world, const std::vector<api::AssignedProcess>& seats) {
  Found found;
  for (const auto& seat : seats) {
    const JoinRequest* request = world.heard_from(seat.process);
    EXPECT_NE(request, nullptr) << "sits and never asked to join";
    if (request == nullptr) continue;
    ++found.asked;
    for (const auto& entry : request->inventory) {
      const Lineage id{entry.attempt, entry.step};
      if (!entry.is_complete) {
        found.bad.insert(id);
        continue;
      }
      ++found.sound[id];
      if (entry.tier != "local") found.shared.insert(id);
    }
  }
  return found;
}

// The newest checkpoint that all processes can load, of the checkpoints that the job may resume.
Lineage newest_for_all(const Found& found, Attempt not_own) {
  Lineage newest;
  for (const auto& [id, count] : found.sound) {
    const bool is_for_all = found.shared.contains(id) || count == found.asked;
    if (is_for_all && !found.bad.contains(id) && id.first > not_own) newest = std::max(newest, id);
  }
  return newest;
}

// The newest checkpoint that all could load, reported or not, except checkpoints that came while the world
// was formed.
Lineage newest_committed(const World& world, Attempt not_own) {
  const Scenario& scenario = world.scenario();
  Lineage newest;
  for (const auto& [id, saved] : world.storage().all()) {
    // Checkpoints that a requested rollback skips may not be marked yet.
    if (scenario.rolls_back && id.first.value() == scenario.former_attempt) continue;
    const bool is_for_all =
        saved.is_sound() && saved.is_shared && saved.shared_since + World::kWhileFormed <= world.now();
    if (is_for_all && id.first > not_own) newest = std::max(newest, id);
  }
  return newest;
}

// Whether no report tells the operator that all can load it: it is damaged, removed or given up, or by the
// reports it is on disks that not all have. That a copy reached the store later may be unreported
// (docs/contribute/operator_laws.md: processes that wait have a list as old as their wait).
bool is_out_of_reach(const World& world, const Found& found, const api::TrainingJobStatus& stored,
                     const Lineage& id) {
  const auto saved = world.storage().all().find(id);
  if (saved == world.storage().all().end() || !saved->second.is_sound() || found.bad.contains(id))
    return true;
  const auto& last = stored.last_checkpoint;
  const bool is_told =
      last && Lineage(last->attempt, last->step) == id && stored.last_checkpoint_tier != "local";
  const bool is_shared = world.scenario().tiers == Tiers::kVolume || is_told || found.shared.contains(id);
  return !is_shared;
}

}  // namespace

// A checkpoint that was reported durable is forgotten only if it is really lost.
void Laws::check_checkpoints(const api::TrainingJobStatus& before,
                             const api::TrainingJobStatus& after) const {
  const auto checkpoint_of = [](const api::TrainingJobStatus& s) {
    return s.last_checkpoint ? Lineage{s.last_checkpoint->attempt, s.last_checkpoint->step} : Lineage{};
  };
  const auto& all = world_.storage().all();
  const auto known = all.find(checkpoint_of(before));
  const bool is_shared = world_.scenario().tiers == Tiers::kVolume || before.last_checkpoint_tier != "local";
  const bool is_whole = known != all.end() && known->second.is_sound() && is_shared;
  EXPECT_TRUE(!is_whole || checkpoint_of(after) >= checkpoint_of(before))
      << "a sound checkpoint was forgotten";
  EXPECT_TRUE(!after.last_checkpoint || all.contains(checkpoint_of(after)));
  if (after.phase == api::JobPhase::kSucceeded) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& c) {
      return c.first.second.value() == world_.scenario().total_steps;
    })) << "succeeded without the last checkpoint";
  }
}

// In a new world all processes go on from the newest checkpoint that each of them can load.
void Laws::check_resume(const core::Observation& seen, const core::Decision& decision) {
  const auto& world = decision.announcement.world;
  const auto& resume = world.front().assignment.resume;
  const auto& all = world_.storage().all();
  const Lineage from = resume ? Lineage{resume->attempt, resume->step} : Lineage{};
  const Attempt not_own(world_.scenario().begins_anew ? world_.scenario().former_attempt : 0);
  const Found found = found_by(world_, world);
  if (resume) {
    const auto saved = all.find(from);
    ASSERT_NE(saved, all.end()) << "resumes from what was never committed";
    EXPECT_EQ(resume->digest, saved->second.digest) << "resumes another one";
    EXPECT_FALSE(saved->second.is_given_up) << "resumes what a rollback gave up";
    EXPECT_FALSE(found.bad.contains(from)) << "resumes what one of them cannot read";
    const auto held = found.sound.find(from);
    const bool is_held_by_all = held != found.sound.end() && held->second == found.asked;
    EXPECT_TRUE(saved->second.is_shared || is_held_by_all) << "resumes what not all of them can reach";
    EXPECT_GT(resume->attempt, not_own) << "it was to begin anew";
  }
  EXPECT_GE(from, newest_for_all(found, not_own)) << "a newer lineage was at hand\n" << world_.describe();
  EXPECT_GE(from, newest_committed(world_, not_own)) << "a newer checkpoint was committed\n"
                                                     << world_.describe();
  EXPECT_TRUE(from >= resumed_ || is_out_of_reach(world_, found, seen.job.status, resumed_))
      << "the run went backwards";
  if (const auto& last = seen.job.status.last_checkpoint) {
    const Lineage durable{last->attempt, last->step};
    EXPECT_TRUE(from >= durable || is_out_of_reach(world_, found, seen.job.status, durable))
        << "what was reported durable is lost";
  }
  for (const auto& member : decision.status.members) {
    const bool is_done = member.is_completed || member.done != 0;
    EXPECT_FALSE(is_done && from.second.value() < world_.scenario().total_steps)
        << name_of(member) << " is done, and the run goes on from step " << from.second.value() << "\n"
        << world_.describe();
  }
  if (from < resumed_) ++tally_.older_points;
  resumed_ = from;
}

}  // namespace ratoon::sim
