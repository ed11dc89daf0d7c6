#include "operator/local/supplies.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "operator/local/member_plan.h"

namespace ratoon::local {

Result<Supplies> Supplies::draw() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "making the members' lifeline");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  auto token = RunToken::draw();
  if (!token) return token.error();
  return Supplies(std::move(*token), std::move(read_end), std::move(write_end));
}

Result<std::optional<std::string>> Supplies::lay_out(const RunFolder& folder,
                                                     const api::CheckpointPolicy& policy) {
  if (auto written = folder.write_token(token_.text()); !written) return written.error();
  auto uid = folder.job_uid();
  if (!uid) return uid.error();
  job_uid_ = *std::move(uid);
  std::optional<std::string> sentence;
  if (policy.staging_memory_mib == 0) return sentence;
  auto staging = StagingFolder::open(StagingFolder::kMemoryRoot, folder.path());
  if (staging)
    staging_ = *std::move(staging);
  else
    sentence = "what members stage is in their own memory, and ends with them: " + staging.error().message();
  return sentence;
}

Result<void> Supplies::authenticate(std::string_view shown) const {
  if (token_.is(shown)) return {};
  return Error(ErrorKind::kPermissionDenied, "the token is not this run's");
}

LaunchPlan Supplies::plan(const api::TrainingJob& job, const api::Pod& pod, const RunFolder& folder,
                          const Ports& ports) const {
  return plan_member(job, pod,
                     {.coordinator_port = ports.coordinator,
                      .group_port = ports.group,
                      .job_uid = job_uid_,
                      .token_file = folder.token_path(),
                      .save_folder = folder.checkpoints_path(),
                      .staging_folder = staging_ ? std::optional(staging_->path()) : std::nullopt,
                      .log_file = folder.log_path(pod.name),
                      .lifeline_fd = read_end_.get()});
}

}  // namespace ratoon::local
