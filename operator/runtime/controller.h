// Controller: the reconcile loop. The core decides about a job, and the controller carries out the decision
// in this order: store the status, create and delete pods, announce the decision to agents. If a step fails,
// the controller decides about the job again after a pause. No worker sleeps: if the API server asks for a
// pause, the job waits in the queue. A worker that has carried out a job's actions for a while leaves the
// other actions for the job's next turn, so that other jobs need not wait for a large job.
//
// Thread contract: several threads work in run(), on different jobs; changes arrive through the queue.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/coordinator/job_registry.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "operator/runtime/jobs/cluster.h"
#include "operator/runtime/metrics/operator_metrics.h"
#include "operator/runtime/scheduling/turn_slice.h"
#include "operator/runtime/scheduling/work_queue.h"

namespace ratoon::runtime {

class Controller {
 public:
  // All arguments must outlive the controller.
  Controller(const Clock& clock, const Logger& logger, WorkQueue& queue, Cluster& cluster,
             coordinator::JobRegistry& registry, OperatorMetrics& metrics,
             const core::NoticeRules& notice_rules = core::built_in_notice_rules());

  // Works until `stop` is requested, on up to `threads` jobs at once.
  void run(const std::stop_token& stop, int threads);
  // Handles one job if one is due; returns false if no job is due. step() is for tests and other callers that
  // move the clock themselves.
  bool step();

 private:
  // The controller's memory of a job between two decisions. A new leader has no JobMemory yet: some seconds
  // of the job's time ledger are lost, and processes list their checkpoints again.
  struct JobMemory {
    std::string uid;  // of the job that had this name at that time
    std::optional<core::RecoveryWatch> recovery;
    std::optional<Timestamp> lists_from{};  // announced by the last decision
    Timestamp status_stored;
    // If a changed status is not stored yet: since when it waits, when it will be stored, and the members in
    // it.
    std::optional<Timestamp> news_since{};
    std::optional<Timestamp> status_due{};
    std::vector<api::MemberStatus> roster{};
    bool is_cut = false;  // the last turn left actions for the next one
    int failures_in_a_row = 0;
    std::optional<Timestamp> disrupted{};  // since when a disruption waits for its resulting actions
    // If the server refuses pods because of their template or a quota: the reason, and when to try
    // again.
    std::string refusal{};
    bool is_template_refused = false;
    Timestamp pods_due;
    int refusals_in_a_row = 0;
    std::set<std::string> pods_seen{};      // their UIDs at the last look, if the job was refused a pod
    std::vector<std::string> held_names{};  // pod names that hanging pods of others hold
    // The job's volume claim when it was last read, and when to read it again.
    std::optional<core::VolumeClaim> claim{};
    std::uint64_t claim_generation = 0;  // of the job at that time
    Timestamp claim_due;
    int claims_read = 0;
  };

  void work(const std::stop_token& stop);
  void reconcile_job(const JobKey& key);
  [[nodiscard]] JobMemory& memory_of(const JobKey& key);
  static void note_gone_pods(const JobView& view, JobMemory& memory);
  // Reads the volume claim if the decision needs it and a read is due.
  [[nodiscard]] Result<void> read_volume_claim(const api::TrainingJob& job, JobMemory& memory);
  bool report_unreadable(const JobKey& key);  // returns whether the job is unreadable
  [[nodiscard]] Result<void> carry_out(const JobView& seen, const core::Decision& decision,
                                       JobMemory& memory);
  // Stores the status if it has a change whose write is due (see StatusDebounce).
  [[nodiscard]] Result<void> store_status(const api::TrainingJob& decided,
                                          const api::TrainingJobStatus& before, JobMemory& memory);
  [[nodiscard]] Result<void> act(const JobView& seen, const api::TrainingJob& job,
                                 const core::Action& action);
  [[nodiscard]] Result<void> create_pods(const api::TrainingJob& job, const core::Decision& decision,
                                         JobMemory& memory, TurnSlice& slice);
  [[nodiscard]] static bool is_held(const JobMemory& memory, const std::string& pod);
  [[nodiscard]] Result<void> create_pod(const api::TrainingJob& job, const core::CreatePod& action,
                                        JobMemory& memory);
  // Counts failed decisions, and measures the time from a disruption to the actions that follow from it.
  void note_outcome(const core::Decision& decision, const Result<void>& done, JobMemory& memory);
  // Returns when to decide about the job again, after this decision was carried out or failed.
  [[nodiscard]] Timestamp next_look(const JobKey& key, const core::Decision& decision,
                                    const Result<void>& done, JobMemory& memory) const;
  // Returns when to try again after a failure.
  [[nodiscard]] Timestamp next_try(const JobKey& key, JobMemory& memory) const;
  void tell_failure(const JobKey& key, const Error& error) const;

  const Clock& clock_;
  const Logger& logger_;
  WorkQueue& queue_;
  Cluster& cluster_;
  coordinator::JobRegistry& registry_;
  OperatorMetrics& metrics_;
  const core::NoticeRules& notice_rules_;
  std::mutex mutex_;
  std::map<JobKey, JobMemory> memories_;  // guarded by mutex_; each is used by the thread of its job
};

}  // namespace ratoon::runtime
