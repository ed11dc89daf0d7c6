// RivalJobs: a simulated world of jobs that all save to one folder under one run name. Each job has its own
// identity and coordinator, and two processes: rank 0 claims the folder, commits and removes; rank 1 follows.
// They run the code that ships: OwnershipGuard, claims, SavePipeline, commit and retention. Time is
// simulated: calls of the disk take time or hang for hours, clocks jump, calls are refused or their replies
// are lost, processes die at any call. Everything follows from the seed.
//
// The laws take the truth from the log of the disk, and not from the code that is tested.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/saver/save_pipeline.h"
#include "agent/src/checkpoint/tiers/claim_rules.h"
#include "agent/src/session/locations/ownership_guard.h"
#include "base/core/clock.h"
#include "tests/property/operator/dice.h"
#include "tests/support/crash/crash_states.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/crash/turns.h"

namespace ratoon::checkpoint::rival_jobs {

inline constexpr std::uint32_t kRanks = 2;
// Long, because the thread of a guard counts real time: it renews nothing while a test lasts.
inline constexpr ClaimTimes kTimes{.lease = std::chrono::hours(1),
                                   .poll_interval = std::chrono::minutes(2),
                                   .namesake_wait = std::chrono::hours(3)};

// The occurrences of a story, so that a test sees that its worlds are not empty.
struct Counts {
  std::uint64_t let_in = 0;
  std::uint64_t refused = 0;
  std::uint64_t taken_over = 0;  // claims that followed another job's claim
  std::uint64_t lost = 0;        // processes that saw that the folder is another job's now
  std::uint64_t reported = 0;    // checkpoints that were said to be durable

  void add(const Counts& more);
};

class RivalJobs {
 public:
  explicit RivalJobs(std::uint64_t seed);
  // Returns when no process runs any longer.
  void play();

  // The broken laws, in order. The first one names the cause.
  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  // What happened, a line for each event.
  [[nodiscard]] const std::string& story() const { return story_; }
  // The disk after a power cut at a random moment of the story.
  [[nodiscard]] test::CrashState cut_power();

 private:
  struct Process;
  struct Job;
  struct MadeClaim {  // one file of claims/
    std::size_t job = 0;
    bool is_released = false;
    std::uint64_t number = 0;
    std::vector<Duration> clocks;  // of each process at this moment
  };
  struct ProcessClock;

  void lead(Process& self);    // rank 0, over all starts of its job
  void follow(Process& self);  // rank 1
  void run_once(Process& self);
  // One attempt of rank 0. False: the process ends.
  [[nodiscard]] bool train(Process& self, session::OwnershipGuard& guard, SavePipeline& saves);
  void save_until_committed(Process& self, session::OwnershipGuard& guard, SavePipeline& saves, Step step);
  [[nodiscard]] SaveContext world_of(Process& self, session::OwnershipGuard& guard, Attempt attempt,
                                     Rank rank);
  // What the state of this rank was made of: the checkpoints since the run's beginning, in order.
  [[nodiscard]] std::optional<std::string> load(Process& self, const std::optional<ResumePoint>& resume,
                                                Rank rank);

  // Moves of time.
  void pause(Process& self, Duration time);
  void before_call(Process& self, test::DiskCall call, const std::string& path);
  void after_call(Process& self);

  // Laws.
  void note_claim(Process& self, const std::string& file);
  void check_manifest(const Process& self, const std::string& file);
  // Whether the job may go on: it was let in.
  [[nodiscard]] bool is_let_in(Process& self, const Result<void>& taken, std::size_t claims_before);
  void check_refusal(const Process& self, const Error& why, std::size_t claims_before);
  // `reported`: how many checkpoints were reported when the process was let in.
  void check_resumed(const Process& self, const std::string& trail, std::size_t reported);
  void report(Process& self, const InventoryEntry& entry);
  void fault(const Process& self, const std::string& sentence);
  void tell(const Process& self, const std::string& event);

  sim::Dice dice_;
  const bool is_calm_;
  const bool has_faults_;
  const bool has_clock_steps_;
  std::shared_ptr<test::ModelDisk> disk_ = std::make_shared<test::ModelDisk>();
  test::Turns turns_;
  Duration now_{0};
  bool is_judging_ = false;  // the test reads the disk, and no process
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::unique_ptr<Process>> processes_;
  Process* current_ = nullptr;
  std::size_t seen_ops_ = 0;
  std::vector<MadeClaim> claims_;  // each was the newest when it was made
  std::vector<std::string> reports_;
  std::vector<std::string> broken_;
  std::string story_;
  Counts counts_;
};

// Reads the time of the world, with the jumps of the process's machine.
struct RivalJobs::ProcessClock final : Clock {
  explicit ProcessClock(const Duration& time) : world(time) {}
  Timestamp now() const override { return {world + ahead}; }
  WallTime wall_now() const override { return {world + ahead}; }
  const Duration& world;
  Duration ahead{0};
};

struct RivalJobs::Process {
  Process(std::size_t its_number, std::size_t its_job, const Duration& time)
      : number(its_number), job(its_job), clock(std::make_shared<ProcessClock>(time)) {}
  const std::size_t number;
  const std::size_t job;
  const std::shared_ptr<ProcessClock> clock;
  std::shared_ptr<Disk> disk;
  Duration wakes_at{0};
  std::uint64_t calls_left = ~0ULL;  // until it dies
  bool is_dead = false;
  bool has_changed = false;  // a file beside the claims, since its start
  bool has_trained = false;  // since its start
  std::string trail;
};

struct RivalJobs::Job {
  std::string uid;
  std::string text;
  std::uint64_t starts = 0;
  // The orders for rank 1.
  Attempt attempt{0};
  std::optional<ResumePoint> resume;
  std::vector<Step> steps;  // that rank 0 has begun to save in this attempt
  bool is_over = false;
};

// The newest checkpoint of all.
[[nodiscard]] std::optional<ResumePoint> newest_of(const Inventory& inventory);
// What the state of a rank was made of, as that checkpoint has it.
[[nodiscard]] Result<std::string> trail_in(const std::shared_ptr<Disk>& disk, const ResumePoint& point,
                                           Rank rank);

// Whether a next job can begin on this disk, and goes on from all that was reported before. The broken
// promise, or nothing.
[[nodiscard]] std::optional<std::string> judge_next_start(const test::CrashState& state);

}  // namespace ratoon::checkpoint::rival_jobs
