// TrainingJob as small structs. The codec keeps fields it does not know, so that a round trip through an
// older program loses nothing.
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
  std::string resource_version;  // what a write must find, or it is refused; empty where nobody else writes
  std::uint64_t generation = 0;  // grows with each change of the spec; 0 where nobody counts
};

// What a member may use, all its processes together; 0: as much as there is.
struct Limits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_millis = 0;  // thousandths of a core

  friend bool operator==(const Limits&, const Limits&) = default;
};

// A named group of equal members.
struct Role {
  std::string name;
  std::optional<std::uint32_t> replicas;  // absent: numNodes of the job
  std::vector<std::string> command;       // of the template's first container, arguments included
  std::vector<Variable> environment;      // of it, in its order
  bool has_agent = true;                  // its program links Ratoon and calls the coordinator
  Limits limits{};                        // of the same container
};

enum class RuleAction { kRestart, kFail, kIgnore };

// What an ending that meets one of these is taken for.
struct RestartRule {
  std::vector<std::uint32_t> exit_codes;
  std::vector<std::uint32_t> signals;
  std::vector<std::string> reasons;  // the platform's words: OOMKilled, Evicted, PreemptionByScheduler
  std::vector<std::string> roles;    // of whose members; empty: of all
  RuleAction action = RuleAction::kRestart;
};

struct RestartPolicy {
  std::uint32_t restarts_max = 10;             // application failures and hangs; disruptions are free
  std::vector<RestartRule> rules;              // the first that is met counts
  std::uint32_t losses_without_step_max = 10;  // in a row, of each member
  bool is_losses_max_given = false;            // by the job; else outages of the platform do not count
  std::uint32_t backoff_seconds = 1;           // before a member that failed is made again; doubles each time
  std::uint32_t backoff_max_seconds = 300;
};

// Whose end decides over the job; empty: everybody's.
struct DecidingRoles {
  std::vector<std::string> roles;
};

// What becomes of pods when the job is over.
enum class CleanPodPolicy { kNone, kRunning, kAll };

struct DisruptionPolicy {
  std::uint32_t heartbeat_seconds = 1;
  std::uint32_t suspect_after_seconds = 3;
  std::vector<std::string> notice_taints;  // keys that announce a node's end, beside those that are built in
  std::uint32_t avoid_node_seconds = 300;  // for so long no member goes to a node that lost one
};

struct CheckpointPolicy {
  std::string volume_claim_name;  // empty: the template mounts what it needs
  std::string run_name;           // empty: the job's name
  std::uint32_t interval_steps = 100;
  std::optional<std::uint32_t> keep_last = 3;  // nothing: all; 0: none that every store holds
  std::vector<std::string> stores;             // get copies of every checkpoint: folders, s3://bucket/prefix
  std::string s3_endpoint{};  // of every s3:// place that a process asks; empty: as its tools find it
  std::string s3_region{};
  std::string load_from;                 // what to begin from where no checkpoint of this run exists
  std::string load_parts;                // of it, as --load-parts has them; empty: weights
  bool overwrites = false;               // the first world begins anew, whatever the run's name has saved
  std::uint64_t staging_memory_mib = 0;  // of a member; 0: what is staged is the process's own memory
  std::uint32_t grace_seconds = 0;       // for a last save when the platform ends a pod; 0: the template's
};

// What makes the samples of a run what they are, whatever the world's size. Absent: the program's own.
struct DataPolicy {
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> global_batch_size;  // samples of a step, of all processes together
};

// Roles without a number of their own may train with fewer members for a while, and with more where there is
// room.
struct ElasticPolicy {
  std::uint32_t members_min = 1;            // of each such role
  std::uint32_t members_max = 0;            // of each such role; 0: numNodes
  std::uint32_t shrink_after_seconds = 30;  // so long a world waits for members that are missing
  std::uint32_t grow_cooldown_seconds =
      60;  // so long it stands before it is given up for those that are back
};

struct TrainingJobSpec {
  std::vector<Role> roles;
  std::uint32_t num_nodes = 1;
  std::uint32_t processes_per_node = 1;
  std::optional<ElasticPolicy> elastic_policy;  // absent: a world has all members
  bool is_suspended = false;                    // nobody is to train for now
  RestartPolicy restart_policy;
  DecidingRoles success_policy;  // the job is done when all members of these are
  DecidingRoles failure_policy;  // only failures of these fail the job
  CleanPodPolicy clean_pod_policy = CleanPodPolicy::kRunning;
  std::optional<std::uint32_t> ttl_seconds_after_finished;  // absent: it stays
  std::string max_duration{};                   // of the training, "90ep"; empty: as the program says
  std::uint32_t max_duration_seconds = 0;       // of all time that it was not suspended; 0: no end
  std::uint32_t start_deadline_seconds = 600;   // in which a member that runs has to speak; 0: none
  std::uint32_t progress_deadline_seconds = 0;  // in which a world has to make a step; 0: none
  DisruptionPolicy disruption_policy;
  CheckpointPolicy checkpoint_policy;
  DataPolicy data_policy;
};

// How many members the role may have at once.
[[nodiscard]] std::uint32_t places_of(const TrainingJobSpec& spec, const Role& role);

// Whether nobody in the job has the agent. Its members say nothing and are told nothing once they run: they
// are numbered when their pods are made, and start, end and are made again as one group.
[[nodiscard]] bool is_group(const TrainingJobSpec& spec);

enum class JobPhase { kPending, kRunning, kRecovering, kSuspended, kSucceeded, kFailed };
[[nodiscard]] constexpr bool is_over(JobPhase phase) {
  return phase == JobPhase::kSucceeded || phase == JobPhase::kFailed;
}

// The incarnation of a member that may join now. Older ones are fenced out.
struct MemberStatus {
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::string uid;            // of its pod; empty until it was seen
  std::string node;           // of its pod; empty until it was placed
  bool is_completed = false;  // all processes of it said that they are done
  // Its node will go: this incarnation is made while the present one trains on. 0: none. Of one that has
  // completed: the newest that was made, and given up.
  std::uint32_t successor = 0;
  std::string successor_uid;              // of the successor's pod; empty until it was seen
  std::optional<WallTime> node_ends_at;   // as far as its notice has a time
  bool is_absent = false;                 // the last world was formed without it
  std::optional<WallTime> not_before;     // its program failed: its next pod is not made earlier
  std::optional<WallTime> awaited_since;  // its pod runs since then, and not all of its processes have spoken
  std::uint64_t done = 0;  // a bit for each local rank that said that it is done, while others are not

  [[nodiscard]] bool is_leaving() const { return successor != 0 && !is_completed; }
  [[nodiscard]] bool is_done(std::uint32_t local_rank) const { return (done >> local_rank & 1U) != 0; }

  friend bool operator==(const MemberStatus&, const MemberStatus&) = default;
};

struct Restarts {
  std::uint32_t application = 0;
  std::uint32_t hung = 0;     // hangs that were found, of a member or of a whole world
  std::uint32_t ignored = 0;  // of these two, those that cannot fail the job (policies.md)
  std::uint32_t disruption = 0;
  std::uint32_t without_step = 0;  // losses in a row since a process of this job last made a step
  std::uint32_t crashes_in_a_row =
      0;  // times that members failed since then, those that failed together once

  friend bool operator==(const Restarts&, const Restarts&) = default;
};

// Where the seconds of one recovery went, in the order in which they passed.
struct RecoveryPhases {
  double detect_seconds = 0;      // last sign of life to the decision
  double decide_seconds = 0;      // to the replacement's pod
  double place_seconds = 0;       // to its node
  double start_seconds = 0;       // to its first call
  double rendezvous_seconds = 0;  // to all ranks in the new world
  double load_seconds = 0;        // to all ranks with their state
  double first_step_seconds = 0;  // to the first step of all ranks

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
  WallTime time;                 // when it was noticed
  std::uint64_t lost_steps = 0;  // made again after it
  RecoveryPhases phases;

  friend bool operator==(const Disruption&, const Disruption&) = default;
};

constexpr std::size_t kSuspectNodesMax = 64;  // what the status can hold

// A node that lost a member a while ago; no member goes there until then.
struct SuspectNode {
  std::string name;
  std::string reason;
  WallTime until;

  friend bool operator==(const SuspectNode&, const SuspectNode&) = default;
};

constexpr std::size_t kFailedNodesMax = 64;  // what the status can hold

// A node on which a program failed lately, first of its world, or whose kubelet did not start a pod.
struct FailedNode {
  std::string name;
  std::uint32_t failures = 0;
  WallTime time;  // of the last

  friend bool operator==(const FailedNode&, const FailedNode&) = default;
};

constexpr std::size_t kLastLinesBytesMax = 4096;

// The failure that broke a world: the first of its members to fail. Those that follow because of it are no
// causes.
struct Failure {
  std::string member;
  std::string node;
  WallTime time;       // when it ended, as far as the platform says, else when it was noticed
  Attempt attempt{0};  // the world that it sat in; 0: none yet
  std::string reason;  // what the ending was taken for: "exit code 3"
  std::optional<std::uint32_t> exit_code;
  std::optional<std::uint32_t> signal;
  std::string exception;   // its own words for it, if its last lines have any
  std::string last_lines;  // that it printed

  friend bool operator==(const Failure&, const Failure&) = default;
};

// As Kubernetes' conditions: the time is that of the last change of `is_true`, not of the words.
struct Condition {
  std::string type;
  bool is_true = false;
  std::string reason;   // one word
  std::string message;  // for people
  WallTime since;
  std::uint64_t observed_generation = 0;

  friend bool operator==(const Condition&, const Condition&) = default;
};

// Those that several parts of the operator tell.
namespace condition {
inline constexpr std::string_view kInvalidSpec = "InvalidSpec";
inline constexpr std::string_view kClaimNotShared = "ClaimNotShared";    // a reason of it
inline constexpr std::string_view kTemplateRefused = "TemplateRefused";  // another one
}  // namespace condition

// What the job's time was spent on, as far as its operator sees; a save that training waits for is useful
// here.
enum class LedgerPart { kUseful, kRecomputed, kWaitingForCapacity, kRestarting, kHung, kSuspended };
constexpr std::size_t kLedgerParts = 6;

// Each moment since the job's beginning is in one part. It changes with the part alone, so that an unchanged
// job is never written.
struct Ledger {
  std::array<double, kLedgerParts> seconds{};  // of each part, without what goes on
  LedgerPart part = LedgerPart::kRestarting;   // that goes on
  std::optional<WallTime> since;               // nothing: the job has not begun, or is over
  Step newest_step{0};                         // that was trained before the last world fell apart

  friend bool operator==(const Ledger&, const Ledger&) = default;
};

[[nodiscard]] std::string_view name_of(LedgerPart part);

struct TrainingJobStatus {
  JobPhase phase = JobPhase::kPending;
  std::string message;                    // why it is in this phase, in one sentence
  std::uint64_t observed_generation = 0;  // of the spec that this is about
  std::vector<Condition> conditions;      // one a type, each from the moment on at which it first held
  std::optional<WallTime> completed_at;   // when the job ended, well or badly
  Attempt attempt{0};
  bool is_formed = false;  // whether that attempt's world was handed out
  std::uint32_t world_size = 0;
  std::optional<WallTime> formed_at;      // while a world stands
  std::optional<WallTime> waiting_since;  // while none does
  std::optional<WallTime> suspending_since;
  std::optional<WallTime> active_since;  // while it is not suspended
  std::uint64_t active_seconds = 0;      // before that
  std::optional<WallTime> stepped_at;    // when `step` last grew
  std::vector<MemberStatus> members;
  Restarts restarts;
  Step step{0};
  Outlook outlook{};  // as rank 0 told it last; of what has no end a loss alone
  std::optional<ResumePoint> last_checkpoint;
  std::string final_weights{};       // the file that the training left its weights in, at its end
  std::string last_checkpoint_tier;  // where it was seen committed; empty: by an operator that did not say
  // Of a job that was to begin anew: its first world's attempt, 0 before there was one. Checkpoints of older
  // attempts are another run's.
  std::optional<Attempt> lineage_start;
  std::optional<Disruption> last_disruption;  // the last one that all members came back from
  std::optional<Failure> last_failure;
  Ledger ledger;
  std::vector<SuspectNode> suspect_nodes;
  std::vector<FailedNode> failed_nodes;
  std::string rejection{};     // a node, and its kubelet's words for not starting a pod; while members wait
  std::uint32_t replicas = 0;  // members with a pod, of roles that numNodes sizes; what kubectl scale sees
  std::string selector{};      // of the pods of such roles, by their labels; empty: there is no such role

  friend bool operator==(const TrainingJobStatus&, const TrainingJobStatus&) = default;
};

struct TrainingJob {
  ObjectMeta meta;
  TrainingJobSpec spec;
  TrainingJobStatus status;
  std::shared_ptr<const nlohmann::json> document;  // what it was decoded from; never changed
};

[[nodiscard]] std::string_view name_of(JobPhase phase);
[[nodiscard]] bool is_phase_name(std::string_view text);

// Refuses a document with a sentence that names the field. The spec is checked, the status is only read.
[[nodiscard]] Result<TrainingJob> decode_training_job(const nlohmann::json& document);
[[nodiscard]] nlohmann::json encode_status(const TrainingJobStatus& status);
// The document as it came, with status replaced.
[[nodiscard]] nlohmann::json encode_training_job(const TrainingJob& job);

[[nodiscard]] inline JobKey key_of(const TrainingJob& job) {
  return {.name_space = job.meta.name_space, .name = job.meta.name};
}

}  // namespace ratoon::api
