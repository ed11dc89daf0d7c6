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
  bool has_agent = true;                  // its program links Ratoon and calls the coordinator
  ResourceLimits limits{};                // of the same container
};

enum class RuleAction { kRestart, kFail, kIgnore };

// A rule for restarts: how the end of a member counts if its exit code, signal or reason is in a list of the
// rule.
struct RestartRule {
  std::vector<std::uint32_t> exit_codes;
  std::vector<std::uint32_t> signals;
  std::vector<std::string> reasons;  // the platform's reasons: OOMKilled, Evicted, PreemptionByScheduler
  std::vector<std::string> roles;    // applies to members of these roles; empty: of all roles
  RuleAction action = RuleAction::kRestart;
};

struct RestartPolicy {
  std::uint32_t restarts_max = 10;             // application failures and hangs; disruptions are not counted
  std::vector<RestartRule> rules;              // the first one that matches applies
  std::uint32_t losses_without_step_max = 10;  // in a row, for each member
  bool is_losses_max_given = false;   // the job sets it; if not, outages of the platform do not count
  std::uint32_t backoff_seconds = 1;  // before the next pod of a member that failed; doubles each time
  std::uint32_t backoff_max_seconds = 300;
};

// The roles whose end decides about the job; empty: all roles.
struct DecidingRoles {
  std::vector<std::string> roles;
};

// Says which pods the operator deletes when the job is over.
enum class CleanPodPolicy { kNone, kRunning, kAll };

struct DisruptionPolicy {
  std::uint32_t heartbeat_seconds = 1;
  std::uint32_t suspect_after_seconds = 3;
  // Keys of taints that announce a node's end, in addition to the built-in keys.
  std::vector<std::string> notice_taints;
  std::uint32_t avoid_node_seconds = 300;  // how long members avoid a node on which a member was lost
};

struct CheckpointPolicy {
  std::string volume_claim_name;     // empty: the template mounts what it needs
  std::string run_name;              // empty: the job's name
  std::uint32_t interval_steps = 0;  // 0: the program decides
  // How many newest checkpoints stay, as in --keep-last: a number or "all"; 0 keeps only what a store still
  // lacks; empty: the trainer decides.
  std::string keep_last{};
  // Folders and URLs such as s3://bucket/prefix that receive copies of all checkpoints.
  std::vector<std::string> stores;
  std::string s3_endpoint{};  // of all s3:// places of the job; empty: found as AWS tools find it
  std::string s3_region{};
  std::string load_from;                 // the start of a run that has no checkpoint yet
  std::string load_parts;                // the parts of load_from, as --load-parts names them; empty: weights
  bool overwrites = false;               // the first world starts over even if the run has checkpoints
  std::uint64_t staging_memory_mib = 0;  // of a member; 0: staged checkpoints are in the process's own memory
  // Time for a last save when Kubernetes ends a pod; 0: the pod template's grace period.
  std::uint32_t grace_seconds = 0;
};

// Settings that determine which samples a run reads, for any number of processes. If a setting is absent, the
// trainer decides.
struct DataPolicy {
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> global_batch_size;  // samples in one step, of all processes together
};

// Roles without `replicas` may train with fewer members if nodes are missing, and with more if there is room.
struct ElasticPolicy {
  std::uint32_t members_min = 1;            // of each such role
  std::uint32_t members_max = 0;            // of each such role; 0: numNodes
  std::uint32_t shrink_after_seconds = 30;  // how long a new world waits for missing members
  std::uint32_t grow_cooldown_seconds =
      60;  // how long a world trains before it is given up for members that came back
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
  DisruptionPolicy disruption_policy;
  CheckpointPolicy checkpoint_policy;
  DataPolicy data_policy;
};

// The largest number of members that the role may have at once.
[[nodiscard]] std::uint32_t members_max_of(const TrainingJobSpec& spec, const Role& role);

// Returns whether no role of the job uses the agent library. The members of a job without the agent form a
// group: they exchange no messages with the coordinator, receive their ranks when their pods are created, and
// start, end and are replaced together.
[[nodiscard]] bool is_group(const TrainingJobSpec& spec);

enum class JobPhase { kPending, kRunning, kRecovering, kSuspended, kSucceeded, kFailed };
[[nodiscard]] constexpr bool is_over(JobPhase phase) {
  return phase == JobPhase::kSucceeded || phase == JobPhase::kFailed;
}

// One member's current incarnation (the number of its replacement); older incarnations may not join.
struct MemberStatus {
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::string uid;            // of its pod; empty until the pod was observed
  std::string node;           // of its pod; empty until the pod was placed
  bool is_completed = false;  // all its processes reported their completion
  // The successor: the incarnation that is created while the current one still trains, because the current
  // one's node will end. 0: no successor. In a completed member this field names the newest successor that
  // was created but never used.
  std::uint32_t successor = 0;
  std::string successor_uid;             // of the successor's pod; empty until the pod was observed
  std::optional<WallTime> node_ends_at;  // if the notice has a time
  bool is_absent = false;                // the last world was formed without it
  std::optional<WallTime> not_before;    // its program failed: the next pod is not created before this time
  // Since when the current pod has run without a first message of some process; absent if each process sent
  // one.
  std::optional<WallTime> awaited_since;
  std::uint64_t done = 0;  // bits of local ranks that reported completion while others have not

  [[nodiscard]] bool is_leaving() const { return successor != 0 && !is_completed; }
  [[nodiscard]] bool is_done(std::uint32_t local_rank) const { return (done >> local_rank & 1U) != 0; }

  friend bool operator==(const MemberStatus&, const MemberStatus&) = default;
};

struct Restarts {
  std::uint32_t application = 0;
  std::uint32_t hung = 0;     // hangs, of a member or of a whole world
  std::uint32_t ignored = 0;  // those of the two counts above that cannot fail the job (policies.md)
  std::uint32_t disruption = 0;
  std::uint32_t without_step = 0;      // losses in a row since a process of this job last completed a step
  std::uint32_t crashes_in_a_row = 0;  // failures of members since then; simultaneous failures count once

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
  WallTime last_sign;            // of the last message of the lost member
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

// A node on which a program recently was the first of its world to fail, or whose kubelet did not start a
// pod.
struct FailedNode {
  std::string name;
  std::uint32_t failures = 0;
  WallTime time;  // of the last failure

  friend bool operator==(const FailedNode&, const FailedNode&) = default;
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

// A condition as in Kubernetes; `since` is when `is_true` last changed; a new message does not change
// `since`.
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
inline constexpr std::string_view kClaimNotShared = "ClaimNotShared";    // a reason of InvalidSpec
inline constexpr std::string_view kTemplateRefused = "TemplateRefused";  // a reason of InvalidSpec
inline constexpr std::string_view kUnreadable = "Unreadable";            // a reason of InvalidSpec
}  // namespace condition

// The parts into which the operator divides a job's time. The time in which training waits for a save counts
// as kUseful.
enum class LedgerPart { kUseful, kRecomputed, kWaitingForCapacity, kRestarting, kHung, kSuspended };
constexpr std::size_t kLedgerParts = 6;

// Sums up a job's time by part: each moment since the job's start belongs to exactly one part. The ledger
// changes only when the part changes, so that a job that only trains needs no writes of its status.
struct JobLedger {
  std::array<double, kLedgerParts> seconds{};  // of each part, without the time since `since`
  LedgerPart part = LedgerPart::kRestarting;   // the present part
  std::optional<WallTime> since;               // nothing: the job has not started, or is over
  Step newest_step{0};                         // the newest step before the last world ended
  Attempt newest_attempt{0};                   // of the newest world; 0: there was none
  Step resumed_step{0};                        // the step from which that world began
  // The number of steps that a world had made and the next world had to repeat, summed over all worlds.
  std::uint64_t steps_made_again = 0;

  friend bool operator==(const JobLedger&, const JobLedger&) = default;
};

[[nodiscard]] std::string_view name_of(LedgerPart part);

struct TrainingJobStatus {
  JobPhase phase = JobPhase::kPending;
  std::string message;                    // the reason for this phase, in one sentence
  std::uint64_t observed_generation = 0;  // of the spec that this status describes
  std::vector<Condition> conditions;      // one of each type, kept from the first time that it was true
  std::optional<WallTime> completed_at;   // when the job succeeded or failed
  Attempt attempt{0};
  bool is_formed = false;  // whether the world of this attempt was sent to its members
  std::uint32_t world_size = 0;
  std::optional<WallTime> formed_at;      // while a world exists
  std::optional<WallTime> waiting_since;  // while no world exists
  std::optional<WallTime> suspending_since;
  std::optional<WallTime> active_since;  // while the job is not suspended
  std::uint64_t active_seconds = 0;      // before active_since
  std::optional<WallTime> stepped_at;    // when `step` last grew
  std::vector<MemberStatus> members;
  Restarts restarts;
  Step step{0};
  Outlook outlook{};  // as rank 0 last reported it; of a training without an end only the loss
  std::optional<ResumePoint> last_checkpoint;
  std::string final_weights{};  // the weights file that the training wrote at its end
  std::string finish_reason{};  // of finish(), if the program ended the run early
  // The storage tier of the last checkpoint (such as "volume"); empty: an older operator wrote none.
  std::string last_checkpoint_tier;
  // For a job with `overwrite`: the attempt of its first world, or 0 before that world is formed. Checkpoints
  // of attempts before the first world belong to another run.
  std::optional<Attempt> lineage_start;
  std::optional<Disruption> last_disruption;  // the last one after which all members were back
  std::optional<OpenRecovery> open_recovery;
  std::optional<MemberFailure> last_failure;
  JobLedger ledger;
  std::vector<SuspectNode> suspect_nodes;
  std::vector<FailedNode> failed_nodes;
  std::string rejection{};     // a node and its kubelet's reason for not starting a pod, while members wait
  std::uint32_t replicas = 0;  // members with a pod, of roles without `replicas`; shown by kubectl scale
  std::string selector{};      // labels of the pods of such roles; empty: there is no such role

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
