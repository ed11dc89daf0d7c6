// TrainingJob as small structs. The codec keeps fields it does not know, so that a round trip through an
// older program loses nothing.
#pragma once

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

namespace ratoon::api {

struct ObjectMeta {
  std::string name_space = "default";
  std::string name;
  std::string uid;
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
};

struct CheckpointPolicy {
  std::string run_name;  // empty: the job's name
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
  std::string uid;  // of its pod; empty until it was seen

  friend bool operator==(const MemberStatus&, const MemberStatus&) = default;
};

struct Restarts {
  std::uint32_t application = 0;
  std::uint32_t disruption = 0;
  std::uint32_t without_step = 0;  // losses in a row since a process of this job last made a step

  friend bool operator==(const Restarts&, const Restarts&) = default;
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
