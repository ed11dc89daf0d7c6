// Plans how to start a member's processes: the role's command, and the trainer's environment variables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/local/members/process_group.h"

namespace ratoon::local {

// The files, ports and settings of a run that its members use.
struct MemberLaunchInputs {
  std::uint16_t coordinator_port = 0;
  std::uint16_t master_port = 0;   // the master port of members without the agent
  std::uint16_t metrics_port = 0;  // of the member's first process; 0: as the container's `env` has it
  std::string run_began{};         // the run's start, in seconds since 1970
  std::string job_uid{};           // the job's identity
  std::filesystem::path token_file;
  std::filesystem::path save_folder;
  std::optional<std::filesystem::path> staging_folder{};
  std::filesystem::path log_file;
  int lifeline_fd = -1;
  // The memory in MiB for staging in each process, its share of this machine; 0: each process finds it
  // itself.
  std::uint64_t staging_memory_mib = 0;
  std::vector<std::string> devices{};  // dealt to the processes of all members in turn; empty: they see all
};

// Returns how long the members have to end after SIGTERM or Ctrl-C. A local run ignores
// terminationGracePeriodSeconds of the pod template.
[[nodiscard]] std::uint32_t grace_seconds_of(const api::TrainingJobSpec& spec);

// Returns the plan for a pod that has a UID and a role of the job.
[[nodiscard]] MemberLaunchPlan plan_member(const api::TrainingJob& job, const api::Pod& pod,
                                           const MemberLaunchInputs& inputs);

}  // namespace ratoon::local
