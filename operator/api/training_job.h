// The custom resource TrainingJob as small structs. The codec keeps fields that it does not know, so that an
// older operator can read and write a newer job without losing fields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "operator/api/training_job_policies.h"
#include "operator/api/variables.h"

namespace ratoon::api {

struct ObjectMeta {
  std::string name_space = "default";
  std::string name;
  std::string uid;
  // The API server refuses writes with an outdated version. In a local run `resource_version` is empty.
  std::string resource_version;
  std::uint64_t generation = 0;  // grows with each change of the spec; 0 in a local run
};

// Resource limits of one member (pod), for all its processes together; 0: no limit.
struct ResourceLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_millis = 0;  // thousandths of a core

  friend bool operator==(const ResourceLimits&, const ResourceLimits&) = default;
};

// A named group of equal members.
struct Role {
  std::string name;
  std::optional<std::uint32_t> replicas;  // absent: numNodes of the job
  std::vector<std::string> command;       // of the template's first container, with its arguments
  std::vector<Variable> environment;      // of the same container, in its order
  bool has_agent = true;                  // a process of each member calls the coordinator
  bool uses_launcher = false;             // this process is ratoon-launcher, and not the program itself
  ResourceLimits limits{};                // of the same container
};

struct TrainingJobSpec {
  std::vector<Role> roles;
  std::uint32_t num_nodes = 1;
  std::uint32_t processes_per_node = 1;
  std::optional<ElasticPolicy> elastic_policy;  // absent: a world has all members
  bool is_suspended = false;                    // the job does not train for now
  RestartPolicy restart_policy;
  DecidingRoles success_policy;  // the job has succeeded when all members of these roles have completed
  DecidingRoles failure_policy;  // only failures of members of these roles fail the job
  CleanPodPolicy clean_pod_policy = CleanPodPolicy::kRunning;
  std::optional<std::uint32_t> ttl_seconds_after_finished;  // absent: the job stays
  std::string max_duration{};                   // the amount of training, "90ep"; empty: the program decides
  std::uint32_t max_duration_seconds = 0;       // all time in which it was not suspended; 0: no limit
  std::uint32_t start_deadline_seconds = 600;   // for the first message of a member that runs; 0: no limit
  std::uint32_t progress_deadline_seconds = 0;  // for the next step of a world; 0: no limit
  // How long members may hold nodes while no node takes the job's other members. After this time the operator
  // frees all nodes of the job. 0: no limit.
  std::uint32_t release_after_seconds = 0;
  DisruptionPolicy disruption_policy;
  CheckpointPolicy checkpoint_policy;
  DataPolicy data_policy;
  TopologyPolicy topology;
};

// The largest number of members that the role may have at once.
[[nodiscard]] std::uint32_t members_max_of(const TrainingJobSpec& spec, const Role& role);

// Returns whether no role of the job uses the agent library. The members of a job without the agent form a
// group: they exchange no messages with the coordinator, receive their ranks when their pods are created, and
// start, end and are replaced together.
[[nodiscard]] bool is_agentless(const TrainingJobSpec& spec);
// Returns whether ratoon-launcher starts the programs of the job and calls the coordinator in their place.
// The programs report no steps and no checkpoints, and a member has completed when its program exits with 0.
[[nodiscard]] bool uses_launcher(const TrainingJobSpec& spec);
// Returns whether the programs report their steps: neither is_agentless() nor uses_launcher().
[[nodiscard]] bool reports_steps(const TrainingJobSpec& spec);

enum class JobPhase { kPending, kRunning, kRecovering, kSuspended, kSucceeded, kFailed };
[[nodiscard]] constexpr bool is_over(JobPhase phase) {
  return phase == JobPhase::kSucceeded || phase == JobPhase::kFailed;
}

// A member and its current incarnation (how often it was replaced); older incarnations may not join.
struct MemberStatus {
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::string uid;            // of its pod; empty until the pod was observed
  std::string node;           // of its pod; empty until the pod was placed
  bool is_completed = false;  // all its processes reported their completion
  // The incarnation number of the successor, which is created while the current incarnation still trains on a
  // node that will end. 0: no successor. In a completed member, this field names the newest successor that
  // was created but never used.
  std::uint32_t successor = 0;
  std::string successor_uid;             // of the successor's pod; empty until the pod was observed
  std::optional<WallTime> node_ends_at;  // if the notice has a time
  bool is_absent = false;                // the last world was formed without it
  std::optional<WallTime>
      next_pod_not_before;  // its program failed: the next pod is not created before this time
  // Since when the operator has waited until each process of the member's running pod has sent its first
  // message. Absent if no first message is missing.
  std::optional<WallTime> first_message_awaited_since;
  std::uint64_t done = 0;          // bits of local ranks that reported completion while others have not
  bool has_been_in_world = false;  // a world was formed with the current incarnation

  [[nodiscard]] bool is_leaving() const { return successor != 0 && !is_completed; }
  [[nodiscard]] bool is_done(std::uint32_t local_rank) const { return (done >> local_rank & 1U) != 0; }

  friend bool operator==(const MemberStatus&, const MemberStatus&) = default;
};

struct Restarts {
  std::uint32_t application = 0;
  std::uint32_t hung = 0;     // hangs, of a member or of a whole world
  std::uint32_t ignored = 0;  // those of the two counts above that cannot fail the job (policies.md)
  std::uint32_t disruption = 0;
  std::uint32_t losses_without_step = 0;  // losses in a row since a process of this job last completed a step
  std::uint32_t consecutive_crashes = 0;  // failures of members since then; simultaneous failures count once

  friend bool operator==(const Restarts&, const Restarts&) = default;
};

// The duration of each phase of a recovery after a loss, in the order of time.
struct RecoveryPhases {
  double detect_seconds = 0;      // from the last message to the decision
  double decide_seconds = 0;      // until the replacement's pod exists
  double place_seconds = 0;       // until the pod has a node
  double start_seconds = 0;       // until its first call
  double rendezvous_seconds = 0;  // until all ranks are in the new world
  double load_seconds = 0;        // until all ranks have loaded their state
  double first_step_seconds = 0;  // until all ranks have completed a step

  [[nodiscard]] double total_seconds() const {
    return detect_seconds + decide_seconds + place_seconds + start_seconds + rendezvous_seconds +
           load_seconds + first_step_seconds;
  }
  friend bool operator==(const RecoveryPhases&, const RecoveryPhases&) = default;
};

struct Disruption {
  std::string member;
  std::string node;
  std::string reason;
  WallTime time;                 // when the loss was detected
  std::uint64_t lost_steps = 0;  // steps that were repeated afterwards
  RecoveryPhases phases;

  friend bool operator==(const Disruption&, const Disruption&) = default;
};

// A recovery in progress, stored so that a new leader can still measure and report it.
struct OpenRecovery {
  std::string member;  // the name of the lost incarnation
  std::string role;
  std::uint32_t index = 0;
  std::string node;
  std::string reason;
  bool is_hung = false;          // the member was alive, and the others waited for it
  WallTime time;                 // when the loss was detected
  WallTime last_message_at;      // of the last message of the lost member
  std::uint64_t lost_steps = 0;  // of the worlds that ended since then

  friend bool operator==(const OpenRecovery&, const OpenRecovery&) = default;
};

constexpr std::size_t kSuspectNodesMax = 64;  // limit of the status

// A node on which a member was lost. The operator places no member on the node before the time `until`.
struct SuspectNode {
  std::string name;
  std::string reason;
  WallTime until;
  bool is_unreachable = false;  // members there had no connection to others: the node itself is alive

  friend bool operator==(const SuspectNode&, const SuspectNode&) = default;
};

constexpr std::size_t kFailedNodesMax = 64;  // limit of the status

// A node on which a member recently failed as the first member of its world, or whose kubelet did not start a
// pod.
struct FailedNode {
  std::string name;
  std::uint32_t failures = 0;
  WallTime time;  // of the last failure

  friend bool operator==(const FailedNode&, const FailedNode&) = default;
};

// How a job with releaseAfterSeconds waits for nodes while it has no world. A new world resets this state.
struct CapacityWait {
  std::optional<WallTime> since;     // since when some members hold nodes and no node takes the others
  std::uint32_t release_count = 0;   // how often the job freed its nodes since its last world
  std::optional<WallTime> retry_at;  // the job has freed its nodes, and makes no pod before this time

  friend bool operator==(const CapacityWait&, const CapacityWait&) = default;
};

constexpr std::size_t kLastLinesBytesMax = 4096;

// The failure of the member that failed first in a world. Failures of other members that follow from the
// first failure are not recorded.
struct MemberFailure {
  std::string member;
  std::string node;
  WallTime time;       // when it ended if the platform says, else when it was detected
  Attempt attempt{0};  // the attempt of its world; 0: it had none yet
  std::string reason;  // the classification of the end: "exit code 3"
  std::optional<std::uint32_t> exit_code;
  std::optional<std::uint32_t> signal;
  std::string exception;   // as the last lines name it, if they do
  std::string last_lines;  // the last output of the program

  friend bool operator==(const MemberFailure&, const MemberFailure&) = default;
};

// A condition as in Kubernetes. `since` is the time of the last change of `is_true`; a change of the message
// does not change `since`.
struct Condition {
  std::string type;
  bool is_true = false;
  std::string reason;   // one word
  std::string message;  // for people
  WallTime since;
  std::uint64_t observed_generation = 0;

  friend bool operator==(const Condition&, const Condition&) = default;
};

// Names of conditions, and of their reasons, that several parts of the operator use.
namespace condition {
inline constexpr std::string_view kScheduled = "Scheduled";
inline constexpr std::string_view kInvalidSpec = "InvalidSpec";
inline constexpr std::string_view kVolumeClaimNotShared = "ClaimNotShared";  // a reason of InvalidSpec
inline constexpr std::string_view kTemplateRefused = "TemplateRefused";      // a reason of InvalidSpec
inline constexpr std::string_view kUnreadable = "Unreadable";                // a reason of InvalidSpec
}  // namespace condition

// The parts into which the operator divides a job's time. The time in which training waits for a save counts
// as kUseful.
enum class TimeLedgerPart { kUseful, kRecomputed, kWaitingForCapacity, kRestarting, kHung, kSuspended };
constexpr std::size_t kTimeLedgerPartCount = 6;

// Sums up a job's time by part: each moment since the job's start belongs to exactly one part. The sums
// change only when a job enters another part, so while a job only trains, its status needs no writes.
struct JobTimeLedger {
  std::array<double, kTimeLedgerPartCount> seconds{};  // of each part, without the time since `since`
  TimeLedgerPart part = TimeLedgerPart::kRestarting;   // the present part
  std::optional<WallTime> since;                       // nothing: the job has not started, or is over
  Step newest_step{0};                                 // the newest step before the last world ended
  Attempt newest_attempt{0};                           // of the newest world; 0: there was none
  Step resumed_step{0};                                // the step from which that world began
  // The number of steps that a world had made and the next world had to repeat, summed over all worlds.
  std::uint64_t repeated_step_count = 0;

  friend bool operator==(const JobTimeLedger&, const JobTimeLedger&) = default;
};

[[nodiscard]] std::string_view name_of(TimeLedgerPart part);

struct TrainingJobStatus {
  JobPhase phase = JobPhase::kPending;
  std::string message;                    // the reason for this phase, in one sentence
  std::uint64_t observed_generation = 0;  // of the spec that this status describes
  std::vector<Condition> conditions;      // one of each type, kept from the first time that it was true
  std::optional<WallTime> completed_at;   // when the job succeeded or failed
  Attempt attempt{0};
  bool is_world_formed = false;  // whether the world of this attempt was sent to its members
  std::uint32_t world_size = 0;
  std::optional<WallTime> world_formed_at;      // while a world exists
  std::optional<WallTime> world_awaited_since;  // while no world exists
  std::optional<CapacityWait> capacity_wait;
  std::optional<WallTime> suspending_since;
  std::optional<WallTime> active_since;  // while the job is not suspended
  std::uint64_t active_seconds = 0;      // before active_since
  std::optional<WallTime> last_step_at;  // when `step` last grew
  std::vector<MemberStatus> members;
  Restarts restarts;
  Step step{0};
  ProgressEstimate outlook{};  // as rank 0 last reported it; of a training without an end only the loss
  std::optional<ResumePoint> last_checkpoint;
  std::string save_location{};   // where its processes save: an absolute path within their pods, or a URL
  std::string operator_image{};  // of the operator that last decided about the job before its end
  std::string final_weights{};   // the weights file that the training wrote at its end
  std::string finish_reason{};   // of finish(), if the program ended the run early
  // The storage tier of the last checkpoint (such as "volume"); empty if an older operator wrote the status.
  std::string last_checkpoint_tier;
  // For a job with `overwrite`: the attempt of its first world, or 0 before that world is formed. Checkpoints
  // of attempts before the job's first world belong to another run.
  std::optional<Attempt> first_own_attempt;
  std::optional<Disruption> last_disruption;  // the last one after which all members were back
  std::optional<OpenRecovery> open_recovery;
  std::optional<MemberFailure> last_failure;
  JobTimeLedger ledger;
  std::vector<SuspectNode> suspect_nodes;
  std::vector<FailedNode> failed_nodes;
  std::string
      kubelet_rejection{};     // a node and its kubelet's reason for not starting a pod, while members wait
  std::uint32_t replicas = 0;  // members with a pod, of roles without `replicas`; shown by kubectl scale
  std::string pod_selector{};  // labels of the pods of such roles; empty: there is no such role

  friend bool operator==(const TrainingJobStatus&, const TrainingJobStatus&) = default;
};

struct TrainingJob {
  ObjectMeta meta;
  TrainingJobSpec spec;
  TrainingJobStatus status;
  std::shared_ptr<const nlohmann::json> document;  // the decoded document; never changed
};

[[nodiscard]] std::string_view name_of(JobPhase phase);
[[nodiscard]] bool is_phase_name(std::string_view text);

// Checks the job's spec, but reads the job's status without checks. An error names the invalid field.
[[nodiscard]] Result<TrainingJob> decode_training_job(const nlohmann::json& document);
[[nodiscard]] nlohmann::json encode_status(const TrainingJobStatus& status);
// Returns the document from which the job was decoded, with the job's new status.
[[nodiscard]] nlohmann::json encode_training_job(const TrainingJob& job);

[[nodiscard]] inline JobKey key_of(const TrainingJob& job) {
  return {.name_space = job.meta.name_space, .name = job.meta.name};
}

}  // namespace ratoon::api
