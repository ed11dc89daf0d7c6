#include "tests/property/agent/crash/rival_jobs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::rival_jobs {
namespace {

using namespace std::chrono_literals;
using session::OwnershipGuard;
using test::DiskCall;
using test::Fault;
using test::Moment;

constexpr int kLooks = 30;  // for the packs of the other rank

// The names of a job as a cluster and as a machine have them. Jobs of one name have other UIDs.
constexpr std::array<const char*, 4> kNames{"team/digits", "team/digits", "/data/runs/digits on node-1",
                                            "/scratch/runs/digits on node-1"};

}  // namespace

RivalJobs::RivalJobs(std::uint64_t seed)
    : dice_(seed),
      is_calm_(dice_.percent(25)),
      has_faults_(!is_calm_ && dice_.percent(60)),
      has_clock_steps_(!is_calm_ && dice_.percent(50)),
      turns_([this](const std::vector<std::size_t>& waiting, std::size_t, std::uint64_t) {
        const std::size_t next =
            *std::min_element(waiting.begin(), waiting.end(), [this](std::size_t a, std::size_t b) {
              return processes_[a]->wakes_at < processes_[b]->wakes_at;
            });
        current_ = processes_[next].get();
        now_ = std::max(now_, current_->wakes_at);
        return next;
      }) {
  for (std::size_t job = 0; job < dice_.pick({2U, 2U, 3U}); ++job) {
    jobs_.push_back(std::make_unique<Job>());
    jobs_.back()->uid = std::string(16, static_cast<char>('a' + job));
    jobs_.back()->text = job_text(kNames[dice_.below(kNames.size())], jobs_.back()->uid);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      processes_.push_back(std::make_unique<Process>(processes_.size(), job, now_));
      Process& self = *processes_.back();
      self.disk = std::make_shared<test::ObservedDisk>(
          disk_, [this, &self](DiskCall call, const std::string& path, Moment moment) {
            if (moment == Moment::kAfter)
              after_call(self);
            else
              before_call(self, call, path);
          });
    }
  }
  current_ = processes_.front().get();
  disk_->set_faults([this](DiskCall, const std::string&) -> Fault {
    if (is_judging_) return {};
    if (current_->is_dead) return {.error = Error(ErrorKind::kCancelled, "the process is dead")};
    if (!has_faults_ || dice_.below(150) != 0) return {};
    return {.error = Error(ErrorKind::kUnavailable, "the disk refuses"),
            .does_it_all_the_same = dice_.percent(50)};
  });
}

void RivalJobs::play() {
  std::vector<std::function<void()>> programs;
  for (const auto& process : processes_) {
    const bool leads = process->number % kRanks == 0;
    programs.emplace_back([this, &self = *process, leads] { leads ? lead(self) : follow(self); });
  }
  turns_.play(programs);
  is_judging_ = true;
  const auto end = judge_next_start({.image = disk_->image(), .acknowledged = reports_});
  if (end) broken_.push_back("at the end: " + *end);
}

test::CrashState RivalJobs::cut_power() {
  const std::size_t cut = dice_.below(disk_->log().size() + 1);
  const auto fate = dice_.pick({test::Fate::kNothing, test::Fate::kEverything, test::Fate::kNamesOnly,
                                test::Fate::kBytesOnly, test::Fate::kChance});
  std::mt19937_64 chance(cut);
  return test::crash({}, std::span(disk_->log()).first(cut), fate, test::NameOrder::kOrdered, chance);
}

// A person or a coordinator starts a job again that was refused, lost its place, or died.
void RivalJobs::lead(Process& self) {
  Job& job = *jobs_[self.job];
  for (const std::uint64_t starts = 1 + dice_.below(3); job.starts < starts;) {
    self.is_dead = false;
    self.calls_left = !is_calm_ && dice_.percent(40) ? 20 + dice_.below(1500) : ~0ULL;
    ++job.starts;
    pause(self, 1min * dice_.below(150));
    run_once(self);
  }
  job.is_over = true;
}

void RivalJobs::run_once(Process& self) {
  Job& job = *jobs_[self.job];
  self.has_changed = self.has_trained = false;
  const Owner owner{.job = job.text, .start = job.uid + std::to_string(job.starts)};
  OwnershipGuard guard({self.disk}, owner, std::make_shared<session::EventLog>(), kTimes);
  const auto sleeps = [&](Duration look) {
    pause(self, look);
    return !self.is_dead;
  };
  const std::size_t claims_before = claims_.size();
  if (!is_let_in(self, guard.enter(*self.clock, sleeps), claims_before)) return;
  const auto saves = SavePipeline::open(self.disk, owner.start, self.clock,
                                        {.owner = job.uid, .pause = 1min, .has_writer_thread = false});
  if (!saves) return;
  for (std::uint64_t attempts = 1 + dice_.below(4); attempts > 0; --attempts)
    if (!train(self, guard, **saves)) return;
  if (!self.is_dead && dice_.percent(70)) guard.release();  // the job is over
}

bool RivalJobs::train(Process& self, OwnershipGuard& guard, SavePipeline& saves) {
  Job& job = *jobs_[self.job];
  // The order of the calls is that of a session: it lists, joins a world, claims the place as rank 0, loads.
  const auto inventory = take_inventory(*self.disk);
  if (!inventory) return false;
  tell(self, "lists " + std::to_string(inventory->complete.size()) + " checkpoints");
  pause(self, !is_calm_ && dice_.percent(20) ? 1min * dice_.below(180) : 1s);
  const auto sleeps = [&](Duration look) {
    pause(self, look);
    return !self.is_dead;
  };
  const std::size_t claims_before = claims_.size();
  if (!is_let_in(self, guard.take(*self.clock, sleeps), claims_before)) return false;
  if (guard.took_from_another_job()) return true;  // the next attempt lists again
  // A process that slept and cannot renew its claim for now believes that it still has the place. Nothing
  // that it saves from there is reported.
  const std::size_t reported = claims_.back().job == self.job ? reports_.size() : 0;
  const auto resume = newest_of(*inventory);
  const auto trail = load(self, resume, Rank(0));
  if (!trail) return !self.is_dead;  // the next attempt looks again
  check_resumed(self, *trail, reported);
  self.trail = *trail;
  job.attempt = std::max(job.attempt, inventory->newest_attempt).next();
  job.resume = resume;
  job.steps.clear();
  self.has_trained = true;
  saves.begin_attempt(world_of(self, guard, job.attempt, Rank(0)));
  const std::uint64_t first = resume ? resume->step.value() : 0;
  for (std::uint64_t save = 1; save <= 1 + dice_.below(2) && !guard.find_lost_reason() && !self.is_dead;
       ++save) {
    job.steps.emplace_back(first + 10 * save);
    save_until_committed(self, guard, saves, job.steps.back());
  }
  counts_.lost += guard.find_lost_reason() ? 1 : 0;
  if (is_calm_ && guard.find_lost_reason()) fault(self, "lost its place, and renewed its claim in time");
  return !guard.find_lost_reason() && !self.is_dead;
}

void RivalJobs::follow(Process& self) {
  Job& job = *jobs_[self.job];
  const Owner owner{.job = job.text, .start = job.uid + "follower"};
  OwnershipGuard guard({self.disk}, owner, std::make_shared<session::EventLog>(), kTimes);
  const auto saves = SavePipeline::open(self.disk, owner.start, self.clock,
                                        {.owner = job.uid, .pause = 1min, .has_writer_thread = false});
  if (!saves) return;
  Attempt attempt{0};
  std::size_t saved = 0;
  while (!job.is_over) {
    if (job.attempt != attempt) {
      attempt = job.attempt;
      saved = 0;
      if (!guard.leave_claims_to_others()) continue;
      const auto trail = load(self, job.resume, Rank(1));
      if (!trail) continue;  // rank 0 commits without it, which is to say never
      self.trail = *trail;
      (*saves)->begin_attempt(world_of(self, guard, attempt, Rank(1)));
    }
    if (attempt == Attempt(0) || saved == job.steps.size()) {
      pause(self, 1min * (1 + dice_.below(4)));
      static_cast<void>((*saves)->do_work_unit());
      continue;
    }
    save_until_committed(self, guard, **saves, job.steps[saved++]);
  }
}

void RivalJobs::save_until_committed(Process& self, OwnershipGuard& guard, SavePipeline& saves, Step step) {
  Job& job = *jobs_[self.job];
  const Attempt attempt = job.attempt;
  const std::string trail =
      self.trail + job.uid + ":" + test::text_of({.attempt = attempt, .step = step}) + ";";
  const std::array views{
      TensorView{.name = "owner", .shape = {job.uid.size()}, .bytes = std::as_bytes(std::span(job.uid))},
      TensorView{.name = "trail", .shape = {trail.size()}, .bytes = std::as_bytes(std::span(trail))}};
  if (!saves.save(step, views)) return;
  self.trail = trail;
  for (int look = 0; look < kLooks && job.attempt == attempt && !guard.find_lost_reason() && !self.is_dead;
       ++look) {
    while (saves.do_work_unit()) {
    }
    if (saves.progress().is_committed) return;
    pause(self, 30s);
  }
}

SaveContext RivalJobs::world_of(Process& self, OwnershipGuard& guard, Attempt attempt, Rank rank) {
  const Owner owner{.job = jobs_[self.job]->text,
                    .start = jobs_[self.job]->uid + std::to_string(jobs_[self.job]->starts)};
  const std::uint64_t term = guard.term_at(*self.disk);
  return {.attempt = attempt,
          .rank = rank,
          .world_size = kRanks,
          .rules = {.last = 2},
          .confirm_ownership = [&self, &guard, term] { return guard.confirm(*self.disk, term); },
          .on_commit = [this, &self](const InventoryEntry& entry) { report(self, entry); },
          .may_clean_up = [&self, owner, term] { return may_clean_up(*self.disk, owner, term); }};
}

std::optional<std::string> RivalJobs::load(Process& self, const std::optional<ResumePoint>& resume,
                                           Rank rank) {
  if (!resume) return "";
  const auto trail = trail_in(self.disk, *resume, rank);
  return trail ? std::optional(*trail) : std::nullopt;
}

void RivalJobs::pause(Process& self, Duration time) {
  if (self.is_dead) return;
  self.wakes_at = now_ + time;
  turns_.move(self.number);
}

void RivalJobs::before_call(Process& self, DiskCall call, const std::string& path) {
  if (self.is_dead) return;
  const bool changes = call == DiskCall::kCreate || call == DiskCall::kRename || call == DiskCall::kRemove;
  if (changes && !path.starts_with(kClaims)) self.has_changed = true;
  Duration takes{0};
  if (dice_.percent(15)) takes = 1ms * dice_.below(20'000);
  if (!is_calm_ && dice_.below(400) == 0) takes = 1min * dice_.below(240);
  if (takes >= 1min) tell(self, "hangs for " + std::to_string(takes / 1min) + " min before " + path);
  if (has_clock_steps_ && dice_.below(500) == 0) self.clock->ahead += 1min * dice_.below(180);
  pause(self, takes);
  if (self.calls_left-- != 0) return;
  self.is_dead = true;
  tell(self, "dies");
}

void RivalJobs::after_call(Process& self) {
  for (; seen_ops_ < disk_->log().size(); ++seen_ops_) {
    const auto* move = std::get_if<test::Move>(&disk_->log()[seen_ops_]);
    if (move == nullptr) continue;
    if (move->to.starts_with('c') && move->to.ends_with(".txt")) note_claim(self, move->to);
    if (parse_manifest_name(move->to)) check_manifest(self, move->to);
  }
}

}  // namespace ratoon::checkpoint::rival_jobs
