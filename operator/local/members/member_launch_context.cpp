#include "operator/local/members/member_launch_context.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "base/core/available_memory.h"
#include "operator/local/members/member_plan.h"

namespace ratoon::local {
namespace {

// Formats seconds since 1970 with three decimal places.
std::string format_seconds(WallTime time) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3f", seconds(time.since_epoch));
  return text.data();
}

// Returns how many processes the job may have at once.
std::uint64_t count_processes(const api::TrainingJob& job) {
  std::uint64_t members = 0;
  for (const auto& role : job.spec.roles) members += api::members_max_of(job.spec, role);
  return members * job.spec.processes_per_node;
}

// Returns each process's share of half of the free memory. A process knows only the processes of its own
// member, but all members are on this machine. Returns 0 if there is one member, or if the free memory is not
// known.
std::uint64_t share_of_memory_mib(const api::TrainingJob& job) {
  const std::uint64_t processes = count_processes(job);
  const auto free_bytes = available_memory();
  if (processes <= job.spec.processes_per_node || !free_bytes) return 0;
  return std::max<std::uint64_t>((*free_bytes / 2 / processes) >> 20, 1);
}

}  // namespace

Result<MemberLaunchContext> MemberLaunchContext::create(WallTime began) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return system_error(errno, "creating the pipe that closes when this run ends");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  auto token = RunToken::generate();
  if (!token) return token.error();
  return MemberLaunchContext(format_seconds(began), std::move(*token), std::move(read_end),
                             std::move(write_end));
}

Result<std::optional<std::string>> MemberLaunchContext::prepare(const RunFolder& folder,
                                                                const api::CheckpointPolicy& policy) {
  if (auto written = folder.write_token(token_.text()); !written) return written.error();
  auto uid = folder.job_uid();
  if (!uid) return uid.error();
  job_uid_ = *std::move(uid);
  std::optional<std::string> sentence;
  if (policy.staging_memory_mib == 0) return sentence;
  auto staging = StagingFolder::open(StagingFolder::kMemoryRoot, folder.path());
  if (staging)
    staging_folder_ = *std::move(staging);
  else
    sentence = "members stage checkpoints in their own memory and lose them when they end: " +
               staging.error().message();
  return sentence;
}

Result<void> MemberLaunchContext::authenticate(std::string_view shown) const {
  if (token_.is(shown)) return {};
  return Error(ErrorKind::kPermissionDenied, "the token belongs to another run");
}

MemberLaunchPlan MemberLaunchContext::plan(const api::TrainingJob& job, const api::Pod& pod,
                                           const RunFolder& folder, const Ports& ports) const {
  return plan_member(
      job, pod,
      {.coordinator_port = ports.coordinator,
       .master_port = ports.group,
       .metrics_port = ports.metrics,
       .run_began = run_began_,
       .job_uid = job_uid_,
       .token_file = folder.token_path(),
       .save_folder = save_folder_.empty() ? folder.checkpoints_path() : save_folder_,
       .staging_folder = staging_folder_ ? std::optional(staging_folder_->path()) : std::nullopt,
       .log_file = folder.log_path(pod.name),
       .lifeline_fd = lifeline_read_end_.get(),
       .staging_memory_mib = shares_memory_ ? share_of_memory_mib(job) : 0,
       .devices = devices_});
}

}  // namespace ratoon::local
