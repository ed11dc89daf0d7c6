// The laws of RivalJobs.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "base/contract/exit_code.h"
#include "tests/property/agent/crash/rival_jobs.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::rival_jobs {

void Counts::add(const Counts& more) {
  let_in += more.let_in;
  refused += more.refused;
  taken_over += more.taken_over;
  lost += more.lost;
  reported += more.reported;
}

std::optional<ResumePoint> newest_of(const Inventory& inventory) {
  if (inventory.complete.empty()) return std::nullopt;
  const InventoryEntry& newest = inventory.complete.front();
  return ResumePoint{.attempt = newest.attempt, .step = newest.step, .digest = newest.digest};
}

Result<std::string> trail_in(const std::shared_ptr<Disk>& disk, const ResumePoint& point, Rank rank) {
  const auto store = RunStore::open(disk, "reader");
  if (!store) return store.error();
  const auto loaded = store->load(point, rank);
  if (!loaded) return loaded.error();
  return loaded->at("trail").bytes;
}

// A claim of another job is followed after a lease of silence, by the clock of the process that makes the
// next one, or once it was released.
void RivalJobs::note_claim(Process& self, const std::string& file) {
  const auto text = *disk_->bytes_of(std::string(kClaims) + "/" + file);
  const std::uint64_t number = std::strtoull(file.c_str() + 1, nullptr, 10);
  const auto note = decode_claim(number, text);
  if (!note) return fault(self, "made a claim that cannot be read: " + text);
  MadeClaim made{.job = self.job, .is_released = note->is_released, .number = number, .clocks = {}};
  for (const auto& process : processes_) made.clocks.push_back(process->clock->now().since_boot);
  // An old number, by a process that slept: it counts for no one.
  if (!claims_.empty() && number <= claims_.back().number) return;
  if (!claims_.empty() && claims_.back().job != self.job) {
    const MadeClaim& before = claims_.back();
    ++counts_.taken_over;
    const Duration silent = self.clock->now().since_boot - before.clocks[self.number];
    if (!before.is_released && silent < kTimes.lease)
      fault(self, "took the place from " + jobs_[before.job]->text + ", which was silent for " +
                      std::to_string(seconds(silent)) + " s");
  }
  tell(self, "makes claim " + file + (made.is_released ? ", released" : ""));
  claims_.push_back(std::move(made));
}

void RivalJobs::check_manifest(const Process& self, const std::string& file) {
  tell(self, "commits " + file);
  const CheckpointId id = *parse_manifest_name(file);
  is_judging_ = true;
  const auto sealed = read_manifest(*disk_, id);
  std::set<std::string> owners;
  if (sealed)
    for (const PackRecord& pack : sealed->manifest.packs) owners.insert(pack.owner);
  if (sealed && owners.size() != 1) broken_.push_back(file + " has packs of several jobs");
  is_judging_ = false;
}

bool RivalJobs::is_let_in(Process& self, const Result<void>& taken, std::size_t claims_before) {
  if (self.is_dead) return false;
  tell(self, taken ? "is let in" : "is not let in: " + taken.error().message());
  if (!taken) {
    if (taken.error().kind() == ErrorKind::kAlreadyExists) {
      ++counts_.refused;
      check_refusal(self, taken.error(), claims_before);
    } else if (!has_faults_) {
      fault(self, "was told what is no refusal: " + taken.error().message());
    }
    return false;
  }
  ++counts_.let_in;
  // The newest claim was the job's at some moment of the call.
  const std::size_t first = claims_before == 0 ? 0 : claims_before - 1;
  const bool had_it = std::any_of(claims_.begin() + static_cast<std::ptrdiff_t>(first), claims_.end(),
                                  [&](const MadeClaim& claim) { return claim.job == self.job; });
  // A claim that cannot be renewed for now is renewed later.
  if (!had_it && !has_faults_) fault(self, "was let in without a claim");
  return true;
}

void RivalJobs::check_refusal(const Process& self, const Error& why, std::size_t claims_before) {
  const auto is_named = [&](const std::unique_ptr<Job>& job) {
    return job->uid != jobs_[self.job]->uid && why.message().find(job->text) != std::string::npos;
  };
  if (std::none_of(jobs_.begin(), jobs_.end(), is_named) ||
      why.message().find("nothing was changed") == std::string::npos)
    fault(self, "was refused with the sentence: " + why.message());
  if (exit_code_of(why.kind()) != ExitCode::kConfiguration) fault(self, "was refused with another code");
  if (self.has_changed && !self.has_trained) fault(self, "was refused and has changed files");
  const bool is_alive = std::any_of(claims_.begin() + static_cast<std::ptrdiff_t>(claims_before),
                                    claims_.end(), [&](const auto& made) { return made.job != self.job; });
  if (!is_alive) fault(self, "was refused, and no other job showed life");
}

// No checkpoint that was reported is given up: the state that a job begins with has grown from all of them.
void RivalJobs::check_resumed(const Process& self, const std::string& trail, std::size_t reported) {
  tell(self, "begins with '" + trail + "'");
  for (const std::string& one : std::span(reports_).first(reported)) {
    if (trail.find(one) == std::string::npos)
      return fault(self,
                   "gives up " + one + ", which was said to be durable, and begins with '" + trail + "'");
  }
}

void RivalJobs::report(Process& self, const InventoryEntry& entry) {
  const std::string said = jobs_[self.job]->uid + ":" + test::text_of(id_of(entry)) + ";";
  if (std::ranges::find(reports_, said) != reports_.end()) return;
  reports_.push_back(said);
  tell(self, "reports " + said);
  disk_->acknowledge(said);
  ++counts_.reported;
}

void RivalJobs::fault(const Process& self, const std::string& sentence) {
  broken_.push_back(jobs_[self.job]->text + ", rank " + std::to_string(self.number % kRanks) + ", after " +
                    std::to_string(seconds(now_)) + " s: " + sentence);
}

void RivalJobs::tell(const Process& self, const std::string& event) {
  story_ += std::to_string(seconds(now_)) + " " + jobs_[self.job]->uid.front() +
            std::to_string(self.number % kRanks) + " " + event + "\n";
}

std::optional<std::string> judge_next_start(const test::CrashState& state) {
  const auto disk = std::make_shared<test::ModelDisk>(state.image);
  ManualClock clock;
  SeenClaim seen;
  const auto sleeps = [&](Duration look) {
    clock.advance(look);
    return true;
  };
  const auto claim =
      Claim::take(disk, {.job = "team/next of 0123", .start = "next"}, kTimes, clock, sleeps, seen);
  if (!claim) return "the next job is not let in: " + claim.error().message();
  const auto inventory = take_inventory(*disk);
  if (!inventory) return "no inventory: " + inventory.error().message();
  if (auto damage = test::find_damage(*inventory)) return damage;
  for (const InventoryEntry& entry : inventory->complete) {
    const ResumePoint point{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
    std::set<std::string> trails;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const auto trail = trail_in(disk, point, Rank(rank));
      if (!trail) return "cannot be loaded: " + trail.error().message();
      trails.insert(*trail);
    }
    if (trails.size() != 1) return "mixed: '" + *trails.begin() + "' with '" + *trails.rbegin() + "'";
  }
  const auto newest = newest_of(*inventory);
  const std::string trail = newest ? *trail_in(disk, *newest, Rank(0)) : "";
  for (const std::string& reported : state.acknowledged)
    if (trail.find(reported) == std::string::npos) return "lost " + reported + ", got '" + trail + "'";
  return std::nullopt;
}

}  // namespace ratoon::checkpoint::rival_jobs
