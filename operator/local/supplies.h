// Supplies: what a local run has ready for its members: the token that they show, the lifeline by which they
// see that their runner is gone, memory to stage in, and the plan that names all of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"
#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/local/process_group.h"
#include "operator/local/run_folder.h"
#include "operator/local/run_token.h"
#include "operator/local/staging_folder.h"

namespace ratoon::local {

class Supplies {
 public:
  [[nodiscard]] static Result<Supplies> draw();

  // Where members find the token and, as far as the job stages, a place in memory. Returns a sentence for
  // people where there is none.
  [[nodiscard]] Result<std::optional<std::string>> lay_out(const RunFolder& folder,
                                                           const api::CheckpointPolicy& policy);

  [[nodiscard]] Result<void> authenticate(std::string_view shown) const;
  struct Ports {
    std::uint16_t coordinator = 0;
    std::uint16_t group = 0;  // where members without the agent meet
  };
  [[nodiscard]] LaunchPlan plan(const api::TrainingJob& job, const api::Pod& pod, const RunFolder& folder,
                                const Ports& ports) const;

 private:
  Supplies(RunToken token, UniqueFd read_end, UniqueFd write_end)
      : token_(std::move(token)), read_end_(std::move(read_end)), write_end_(std::move(write_end)) {}

  RunToken token_;
  UniqueFd read_end_;   // members inherit it and see its end when we are gone
  UniqueFd write_end_;  // ours alone
  std::string job_uid_;
  std::optional<StagingFolder> staging_;
};

}  // namespace ratoon::local
