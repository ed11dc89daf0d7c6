// MemberLaunchContext has the resources of a local run's members: their token, the lifeline (a pipe that
// closes when `ratoon run` ends), and a staging folder in memory. It makes the launch plan of each member
// from these resources.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/local/folder/run_folder.h"
#include "operator/local/folder/staging_folder.h"
#include "operator/local/members/process_group.h"
#include "operator/local/members/run_token.h"

namespace ratoon::local {

class MemberLaunchContext {
 public:
  // Creates the resources, with a new random token. `began` is the time at which the run began.
  [[nodiscard]] static Result<MemberLaunchContext> create(WallTime began);

  // Writes the token's file and, if the job stages checkpoints, creates the staging folder in memory. Returns
  // a sentence for the user if the staging folder cannot be created.
  [[nodiscard]] Result<std::optional<std::string>> prepare(const RunFolder& folder,
                                                           const api::CheckpointPolicy& policy);

  [[nodiscard]] Result<void> authenticate(std::string_view shown) const;
  struct Ports {
    std::uint16_t coordinator = 0;
    std::uint16_t group = 0;    // the master port of members without the agent
    std::uint16_t metrics = 0;  // the first of the member; 0: the runner chose none
  };
  [[nodiscard]] MemberLaunchPlan plan(const api::TrainingJob& job, const api::Pod& pod,
                                      const RunFolder& folder, const Ports& ports) const;
  // Sets where members save if their command lines do not name a folder (empty: in the run's folder), and the
  // GPUs that are dealt to the processes in turn (empty: each process sees all GPUs).
  // `shares_memory`: each process gets its share of this machine's memory for staging.
  void set_folder_and_devices(std::filesystem::path save_folder, std::vector<std::string> devices,
                              bool shares_memory) {
    save_folder_ = std::move(save_folder);
    devices_ = std::move(devices);
    shares_memory_ = shares_memory;
  }

 private:
  MemberLaunchContext(std::string began, RunToken token, UniqueFd read_end, UniqueFd write_end)
      : run_began_(std::move(began)),
        token_(std::move(token)),
        lifeline_read_end_(std::move(read_end)),
        lifeline_write_end_(std::move(write_end)) {}

  std::string run_began_;  // in seconds since 1970
  RunToken token_;
  UniqueFd lifeline_read_end_;   // members inherit it and read its end of file when the runner is gone
  UniqueFd lifeline_write_end_;  // only the runner has it
  std::string job_uid_;
  std::optional<StagingFolder> staging_folder_;
  std::filesystem::path save_folder_{};  // empty: in the run's folder
  std::vector<std::string> devices_{};
  bool shares_memory_ = true;
};

}  // namespace ratoon::local
