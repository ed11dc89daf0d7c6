#include "operator/local/members/member_plan.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/contract/names.h"
#include "operator/api/trainer_environment.h"
#include "operator/api/variables.h"

namespace ratoon::local {
namespace {

namespace env = names::env;

constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";

// Returns the variables that identify the member and its coordinator. The job's pod template cannot override
// these variables.
api::VariableMap identity_environment(const api::TrainingJob& job, const api::Pod& pod,
                                      const MemberLaunchInputs& inputs) {
  api::VariableMap place;
  place[env::kJobNamespace] = job.meta.name_space;
  place[env::kJobName] = job.meta.name;
  place[env::kJobUid] = inputs.job_uid;
  place[env::kRole] = pod.role;
  place[env::kIndex] = std::to_string(pod.index);
  place[env::kIncarnation] = std::to_string(pod.incarnation);
  place[env::kMemberUid] = pod.uid;
  place[env::kProcessesPerNode] = std::to_string(job.spec.processes_per_node);
  place[env::kSaveFolder] = inputs.save_folder.string();
  if (pod.group_rank_assignment) {
    place[env::kMasterAddress] = pod.address;  // all members are on this machine
    place[env::kWorldSize] = std::to_string(pod.group_rank_assignment->world_size);
  } else {
    place[env::kCoordinatorUrl] = "http://127.0.0.1:" + std::to_string(inputs.coordinator_port);
    place[env::kTokenFile] = inputs.token_file.string();
    place[env::kLifelineFd] = "3";
    place[env::kTimeLimitSince] = inputs.run_began;
    if (api::uses_launcher(job.spec))
      place[env::kNoticeFile] = (inputs.token_file.parent_path() / ("notice-" + pod.name + ".json")).string();
    if (inputs.metrics_port != 0) place[env::kMetricsPort] = std::to_string(inputs.metrics_port);
  }
  return place;
}

// Returns the variables that all processes of the member have in common. As on a cluster, values in the pod
// template may refer to all of Ratoon's variables, and may override the variables that configure the
// training.
api::VariableMap common_environment(const api::TrainingJob& job, const api::Role& role, const api::Pod& pod,
                                    const MemberLaunchInputs& inputs) {
  const api::VariableMap place = identity_environment(job, pod, inputs);
  api::VariableMap common = place;
  common.merge(api::trainer_environment(job));
  if (inputs.staging_memory_mib != 0)
    common.try_emplace(env::kStagingMemoryMib, std::to_string(inputs.staging_memory_mib));
  if (inputs.staging_folder) common[env::kStagingFolder] = inputs.staging_folder->string();
  if (pod.group_rank_assignment) common[env::kMasterPort] = std::to_string(inputs.master_port);
  common = api::expand_environment(role.environment, std::move(common));
  for (const auto& [name, value] : place) common[name] = value;
  return common;
}

// Returns the number of the member's first process among the processes of all members of the job.
std::size_t first_process_number(const api::TrainingJob& job, const api::Pod& pod) {
  std::size_t members = pod.index;
  for (auto role = job.spec.roles.begin(); role != job.spec.roles.end() && role->name != pod.role; ++role)
    members += api::members_max_of(job.spec, *role);
  return members * job.spec.processes_per_node;
}

}  // namespace

std::uint32_t grace_seconds_of(const api::TrainingJobSpec& spec) {
  constexpr std::uint32_t kGraceSecondsOfPod = 30;  // the default of a pod
  const std::uint32_t said = spec.checkpoint_policy.grace_seconds;
  return said == 0 ? kGraceSecondsOfPod : said;
}

MemberLaunchPlan plan_member(const api::TrainingJob& job, const api::Pod& pod,
                             const MemberLaunchInputs& inputs) {
  const auto role = std::ranges::find(job.spec.roles, pod.role, &api::Role::name);
  const auto common = common_environment(job, *role, pod, inputs);
  MemberLaunchPlan plan{.command = {},
                        .environments = {},
                        .log_path = inputs.log_file.string(),
                        .lifeline_fd = inputs.lifeline_fd,
                        .is_killed_with_runner = pod.group_rank_assignment.has_value(),
                        .limits = role->limits};
  const std::size_t first_number = first_process_number(job, pod);
  for (std::uint32_t local_rank = 0; local_rank < job.spec.processes_per_node; ++local_rank) {
    plan.environments.push_back(common);
    auto& own = plan.environments.back();
    own[env::kLocalRank] = std::to_string(local_rank);
    if (!inputs.devices.empty() && !common.contains(kVisibleDevices))
      own[kVisibleDevices] = inputs.devices[(first_number + local_rank) % inputs.devices.size()];
    if (pod.group_rank_assignment)
      own[env::kRank] = std::to_string(pod.group_rank_assignment->first_rank + local_rank);
  }
  // The program ratoon-launcher must be in the folder of the `ratoon` program, or in $PATH.
  if (role->uses_launcher) plan.command = {"ratoon-launcher", "--"};
  // Expand $(NAME) with the first process's environment, because all processes of a pod share one command.
  for (const std::string& word : role->command)
    plan.command.push_back(api::expand_variables(word, plan.environments.front()));
  return plan;
}

}  // namespace ratoon::local
