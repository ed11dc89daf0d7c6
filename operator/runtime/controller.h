// Controller: the reconcile loop. The core decides about a job, and the controller carries out the decision
// in this order: store the status, create and delete pods, announce the decision to agents. If a step fails,
// the controller decides about the job again after a pause. No worker sleeps: if the API server asks for a
// pause, the job goes back to the queue. If a worker has carried out a job's actions for a while, it leaves
// the other actions for the job's next turn, so that other jobs need not wait for a large job.
//
// Thread contract: several threads work in run(), on different jobs; changes arrive through the queue.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <stop_token>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/threads/mutex.h"
#include "operator/coordinator/job_registry.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "operator/runtime/jobs/cluster.h"
#include "operator/runtime/jobs/process_limit.h"
#include "operator/runtime/metrics/operator_metrics.h"
#include "operator/runtime/scheduling/turn_slice.h"
#include "operator/runtime/scheduling/work_queue.h"

namespace ratoon::runtime {

class Controller {
 public:
  // The references must outlive the controller. `processes_per_namespace` is a limit, see ProcessLimit.
  // `operator_image` is the image of this operator's container, or empty if it is unknown.
  Controller(const Clock& clock, const Logger& logger, WorkQueue& queue, Cluster& cluster,
             coordinator::JobRegistry& registry, OperatorMetrics& metrics,
             const core::NoticeRules& notice_rules = core::built_in_notice_rules(),
             std::uint64_t processes_per_namespace = 0, std::string operator_image = "");

  // Works until `stop` is requested, on up to `threads` jobs at once.
  void run(const std::stop_token& stop, int threads);
  // Handles one job that is due; returns false if there is none. step() is for tests and other callers that
  // move the clock themselves.
  bool step();

 private:
  // The controller's memory of a job between two decisions. A new leader has no JobMemory yet, so it loses
  // some seconds of the job's time ledger, and requests new lists of checkpoints from the processes.
  struct JobMemory {
    std::string uid;  // of the job that had this name at that time
    std::optional<core::RecoveryTimestamps> recovery;
    std::optional<Timestamp> checkpoint_lists_valid_from{};  // announced by the last decision
    std::vector<std::string> pod_uids_with_grace{};          // deleted by the last decision
    Timestamp status_stored_at;
    // status_changed_since, status_due_at and roster describe a changed status that is not stored yet:
    // since when the status waits, when the controller will store it, and its members.
    std::optional<Timestamp> status_changed_since{};
    std::optional<Timestamp> status_due_at{};
    std::vector<api::MemberStatus> roster{};
    bool is_turn_cut = false;  // the last turn left actions for the next one
    int failures_in_a_row = 0;
    std::optional<Timestamp> disrupted_since{};  // since when a disruption waits for its resulting actions
    // The reason for which pods of the job were last refused, such as their template or a quota. The text is
    // empty if no pod was refused. next_pod_request_at is the time of the next try.
    std::string refusal{};
    bool is_template_refused = false;
    Timestamp next_pod_request_at;
    int refusals_in_a_row = 0;
    std::set<std::string> seen_pod_uids{};  // their UIDs at the last look, if the job was refused a pod
    std::vector<std::string> unusable_pod_names{};  // pod names that hanging pods of others hold
    // The job's volume claim as the controller last read it. The next read is due at claim_read_due.
    std::optional<core::VolumeClaim> claim{};
    std::uint64_t claim_job_generation = 0;  // of the job at that time
    Timestamp claim_read_due;
    int claim_read_count = 0;
  };

  void run_worker(const std::stop_token& stop);
  void reconcile_job(const JobKey& key);
  [[nodiscard]] JobMemory& job_memory_of(const JobKey& key);
  static void erase_processes_of_other_jobs(core::Observation& seen);
  static void note_gone_pods(const JobView& view, JobMemory& memory);
  // Reads the volume claim if the next read of the claim is due.
  [[nodiscard]] Result<void> read_volume_claim(const api::TrainingJob& job, JobMemory& memory);
  bool report_unreadable(const JobKey& key);  // returns whether the job is unreadable
  [[nodiscard]] Result<void> apply_decision(const JobView& seen, const core::Decision& decision,
                                            JobMemory& memory);
  // Stores the status if it has a change whose write is due (see StatusDebounce).
  [[nodiscard]] Result<void> store_status(const api::TrainingJob& decided,
                                          const api::TrainingJobStatus& before, JobMemory& memory);
  [[nodiscard]] Result<void> apply_action(const JobView& seen, const api::TrainingJob& job,
                                          const core::Action& action);
  [[nodiscard]] Result<void> create_pods(const api::TrainingJob& job, const core::Decision& decision,
                                         JobMemory& memory, TurnSlice& slice);
  // Stores the reason for which pods of the job were refused, and when to request pods again. An empty
  // `refusal` says that no pod was refused.
  void note_refusal(std::string refusal, bool is_template_refused, JobMemory& memory) const;
  [[nodiscard]] Result<ProcessLimit::Admission> admit(const api::TrainingJob& job);
  [[nodiscard]] static bool is_pod_name_held(const JobMemory& memory, const std::string& pod);
  [[nodiscard]] Result<void> create_pod(const api::TrainingJob& job, const core::CreatePod& action,
                                        JobMemory& memory);
  // Counts failed decisions, and measures the time from a disruption to the actions that follow from it.
  void note_outcome(const core::Decision& decision, const Result<void>& done, JobMemory& memory);
  // Returns when to decide about the job again, after this decision was carried out or failed.
  [[nodiscard]] Timestamp next_decision_time(const JobKey& key, const core::Decision& decision,
                                             const Result<void>& done, JobMemory& memory) const;
  // Returns when to try again after a failure.
  [[nodiscard]] Timestamp next_retry_time(const JobKey& key, JobMemory& memory) const;
  void log_failure(const JobKey& key, const Error& error) const;

  const Clock& clock_;
  const Logger& logger_;
  WorkQueue& queue_;
  Cluster& cluster_;
  coordinator::JobRegistry& registry_;
  OperatorMetrics& metrics_;
  const core::NoticeRules& notice_rules_;
  ProcessLimit process_limit_;
  const std::string operator_image_;
  Mutex mutex_;
  std::map<JobKey, JobMemory> memories_ RATOON_GUARDED_BY(mutex_);  // each is used by the thread of its job
};

}  // namespace ratoon::runtime
