// The policies in the spec of a TrainingJob.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ratoon::api {

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
  bool is_losses_without_step_max_set =
      false;                          // the job sets it; if not, outages of the platform do not count
  std::uint32_t backoff_seconds = 1;  // before the next pod of a member that failed; doubles each time
  std::uint32_t backoff_max_seconds = 300;
};

// The roles whose end decides about the job's end; empty: all roles.
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
  std::string volume_claim_name;  // empty: the template mounts what it needs
  std::string home{};             // s3://bucket/prefix, where the run saves without any volume; empty: none
  std::string run_name;           // empty: the job's name
  std::uint32_t interval_steps = 0;  // 0: the program decides
  // How many of the newest checkpoints stay, as in --keep-last: a number or "all". 0: only those that a store
  // still lacks. Empty: the trainer decides.
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

// Settings that determine which samples a run reads, for any number of processes. The trainer chooses the
// value of each absent field.
struct DataPolicy {
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> global_batch_size;  // samples in one step, of all processes together
};

// Where the scheduler places members relative to each other.
struct TopologyPolicy {
  std::string pack_by;  // the label of nodes that are close to each other; empty: members are only spread
};

// Roles without `replicas` may train with fewer members if nodes are missing, and with more if there is room.
struct ElasticPolicy {
  std::uint32_t members_min = 1;            // of each such role
  std::uint32_t members_max = 0;            // of each such role; 0: numNodes
  std::uint32_t shrink_after_seconds = 30;  // how long a new world waits for missing members
  std::uint32_t grow_cooldown_seconds =
      60;  // how long a world trains before it is given up for members that came back
};

}  // namespace ratoon::api
