// TrainingJob as small structs. The codec keeps fields it does not know, so that a round trip through an
// older program loses nothing.
#pragma once

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

namespace ratoon::api {

struct ObjectMeta {
  std::string name_space = "default";
  std::string name;
  std::string uid;
  std::string resource_version;  // what a write must find, or it is refused; empty where nobody else writes
};

// A named group of equal members.
struct Role {
  std::string name;
  std::optional<std::uint32_t> replicas;  // absent: numNodes of the job
  std::vector<std::string> command;       // of the template's first container, arguments included
  std::map<std::string, std::string> environment;
};

struct RestartPolicy {
  std::uint32_t restarts_max = 10;  // application failures only; disruptions are free
};

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
  std::uint32_t keep_last = 3;
};

struct TrainingJobSpec {
  std::vector<Role> roles;
  std::uint32_t num_nodes = 1;
  std::uint32_t processes_per_node = 1;
  RestartPolicy restart_policy;
  DisruptionPolicy disruption_policy;
  CheckpointPolicy checkpoint_policy;
};

enum class JobPhase { kPending, kRunning, kRecovering, kSucceeded, kFailed };

// The incarnation of a member that may join now. Older ones are fenced out.
struct MemberStatus {
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::string uid;            // of its pod; empty until it was seen
  std::string node;           // of its pod; empty until it was placed
  bool is_completed = false;  // all processes of it said that they are done
  // Its node will go: this incarnation is made while the present one trains on. 0: none.
  std::uint32_t successor = 0;
  std::string successor_uid;  // of the successor's pod; empty until it was seen

  [[nodiscard]] bool is_leaving() const { return successor != 0; }

  friend bool operator==(const MemberStatus&, const MemberStatus&) = default;
};

struct Restarts {
  std::uint32_t application = 0;
  std::uint32_t disruption = 0;
  std::uint32_t without_step = 0;  // losses in a row since a process of this job last made a step

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

struct TrainingJobStatus {
  JobPhase phase = JobPhase::kPending;
  std::string message;  // why it is in this phase, in one sentence
  Attempt attempt{0};
  bool is_formed = false;  // whether that attempt's world was handed out
  std::uint32_t world_size = 0;
  std::vector<MemberStatus> members;
  Restarts restarts;
  Step step{0};
  std::optional<ResumePoint> last_checkpoint;
  std::optional<Disruption> last_disruption;  // the last one that all members came back from
  std::vector<SuspectNode> suspect_nodes;

  friend bool operator==(const TrainingJobStatus&, const TrainingJobStatus&) = default;
};

struct TrainingJob {
  ObjectMeta meta;
  TrainingJobSpec spec;
  TrainingJobStatus status;
  std::shared_ptr<const nlohmann::json> document;  // what it was decoded from; never changed
};

[[nodiscard]] std::string_view name_of(JobPhase phase);

// Refuses a document with a sentence that names the field. The spec is checked, the status is only read.
[[nodiscard]] Result<TrainingJob> decode_training_job(const nlohmann::json& document);
[[nodiscard]] nlohmann::json encode_status(const TrainingJobStatus& status);
// The document as it came, with status replaced.
[[nodiscard]] nlohmann::json encode_training_job(const TrainingJob& job);

[[nodiscard]] inline JobKey key_of(const TrainingJob& job) {
  return {.name_space = job.meta.name_space, .name = job.meta.name};
}

}  // namespace ratoon::api
