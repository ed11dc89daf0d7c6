// Controller: looks at one job after the other, lets the core decide and carries the decision out in its
// order: the status is stored, then pods are made and deleted, then agents are told. What fails is tried
// again at the next look, which the failure itself asks for.
//
// Thread contract: several threads work in run(), on different jobs; news come through the queue.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/coordinator/rooms.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "operator/runtime/cluster.h"
#include "operator/runtime/operator_metrics.h"
#include "operator/runtime/work_queue.h"

namespace ratoon::runtime {

class Controller {
 public:
  // All must outlive it.
  Controller(const Clock& clock, const Logger& logger, WorkQueue& queue, Cluster& cluster,
             coordinator::Rooms& rooms, OperatorMetrics& metrics);

  // Works until it is told to stop, on as many jobs at once.
  void run(const std::stop_token& stop, int threads);
  // Looks at one job if one is due; false: none is. For who moves the clock by hand.
  bool step();

 private:
  // What is remembered of a job between two looks. Losing it costs nothing but an account of seconds.
  struct Memory {
    std::string uid;  // of the job that had this name when it was written
    std::optional<core::RecoveryWatch> recovery;
    Timestamp status_stored;
    // While a status has news that wait: since when, until when, and whom it names.
    std::optional<Timestamp> news_since{};
    std::optional<Timestamp> status_due{};
    std::vector<api::MemberStatus> roster{};
    int failures_in_a_row = 0;
    std::optional<Timestamp> disrupted{};  // since when news of one waits for what follows from it
    // The server refuses pods, for the template or for a quota: why, and from when they are asked for again.
    std::string refusal{};
    bool is_template_refused = false;
    Timestamp pods_due;
    int refusals_in_a_row = 0;
    std::set<std::string> pods_seen{};      // their UIDs, at the last look, if it was refused one
    std::vector<std::string> held_names{};  // by pods of others that hang
    // What the job's claim was when it was last read, and from when it is read again.
    std::optional<core::Claim> claim{};
    std::uint64_t claim_generation = 0;  // of the job, then
    Timestamp claim_due;
    int claims_read = 0;
  };

  void work(const std::stop_token& stop);
  void look_at(const JobKey& key);
  [[nodiscard]] Memory& memory_of(const JobKey& key);
  static void note_gone_pods(const View& view, Memory& memory);
  // Reads the claim where the decision asks for it and it is due.
  [[nodiscard]] Result<void> look_at_claim(const api::TrainingJob& job, Memory& memory);
  bool report_broken(const JobKey& key);  // whether it is
  [[nodiscard]] Result<void> carry_out(const View& seen, const core::Decision& decision, Memory& memory);
  // Stores the status if it says something new that is due; see Patience.
  [[nodiscard]] Result<void> store_status(const api::TrainingJob& decided,
                                          const api::TrainingJobStatus& before, Memory& memory);
  [[nodiscard]] Result<void> act(const View& seen, const api::TrainingJob& job, const core::Action& action);
  [[nodiscard]] Result<void> create_pods(const api::TrainingJob& job, const core::Decision& decision,
                                         Memory& memory);
  [[nodiscard]] static bool is_held(const Memory& memory, const std::string& pod);
  [[nodiscard]] Result<void> create_pod(const api::TrainingJob& job, const core::CreatePod& action,
                                        Memory& memory);
  // Counts the looks that are made again, and how long what follows from a notice took.
  void note_outcome(const core::Decision& decision, const Result<void>& done, Memory& memory);
  // The next look, after what was decided was done or could not be.
  [[nodiscard]] Timestamp next_look(const core::Decision& decision, const Result<void>& done,
                                    Memory& memory) const;
  void tell_failure(const JobKey& key, const Error& error) const;

  const Clock& clock_;
  const Logger& logger_;
  WorkQueue& queue_;
  Cluster& cluster_;
  coordinator::Rooms& rooms_;
  OperatorMetrics& metrics_;
  std::mutex mutex_;
  std::map<JobKey, Memory> memories_;  // guarded by mutex_; what is in one is of who works on that job
};

}  // namespace ratoon::runtime
