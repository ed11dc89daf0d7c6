// How the processes of a member are started: the role's command, and what the trainer is told by variables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/local/process_group.h"

namespace ratoon::local {

// Where a run keeps what its members need.
struct MemberPlaces {
  std::uint16_t coordinator_port = 0;
  std::uint16_t group_port = 0;  // where members without the agent meet
  std::string job_uid{};         // the job's identity
  std::filesystem::path token_file;
  std::filesystem::path save_folder;
  std::optional<std::filesystem::path> staging_folder{};
  std::filesystem::path log_file;
  int lifeline_fd = -1;
};

// `pod` has its UID and a role that the job has.
[[nodiscard]] LaunchPlan plan_member(const api::TrainingJob& job, const api::Pod& pod,
                                     const MemberPlaces& places);

}  // namespace ratoon::local
