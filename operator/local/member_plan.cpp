#include "operator/local/member_plan.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/contract/names.h"
#include "operator/api/trainer_environment.h"

namespace ratoon::local {
namespace {

namespace env = names::env;

// What all processes of the member are told.
std::map<std::string, std::string> common_environment(const api::TrainingJob& job, const api::Role& role,
                                                      const api::Pod& pod, const MemberPlaces& places) {
  std::map<std::string, std::string> common = role.environment;
  common[env::kJobNamespace] = job.meta.name_space;
  common[env::kJobName] = job.meta.name;
  common[env::kJobUid] = places.job_uid;
  common[env::kRole] = pod.role;
  common[env::kIndex] = std::to_string(pod.index);
  common[env::kIncarnation] = std::to_string(pod.incarnation);
  common[env::kMemberUid] = pod.uid;
  common[env::kProcessesPerNode] = std::to_string(job.spec.processes_per_node);
  common[env::kSaveFolder] = places.save_folder.string();
  // What the template says of these wins, as on a cluster.
  common.merge(api::trainer_environment(job));
  if (places.staging_folder) common.try_emplace(env::kStagingFolder, places.staging_folder->string());
  if (pod.group_seat) {
    common.try_emplace(env::kMasterPort, std::to_string(places.group_port));
    common[env::kMasterAddress] = pod.address;  // all are here
    common[env::kWorldSize] = std::to_string(pod.group_seat->world_size);
  } else {
    common[env::kCoordinatorUrl] = "http://127.0.0.1:" + std::to_string(places.coordinator_port);
    common[env::kTokenFile] = places.token_file.string();
    common[env::kLifelineFd] = "3";
  }
  return common;
}

}  // namespace

LaunchPlan plan_member(const api::TrainingJob& job, const api::Pod& pod, const MemberPlaces& places) {
  const auto role = std::ranges::find(job.spec.roles, pod.role, &api::Role::name);
  const auto common = common_environment(job, *role, pod, places);
  LaunchPlan plan{.command = role->command,
                  .environments = {},
                  .log_path = places.log_file.string(),
                  .lifeline_fd = places.lifeline_fd,
                  .ends_with_lifeline = pod.group_seat.has_value(),
                  .limits = role->limits};
  for (std::uint32_t local_rank = 0; local_rank < job.spec.processes_per_node; ++local_rank) {
    plan.environments.push_back(common);
    plan.environments.back()[env::kLocalRank] = std::to_string(local_rank);
    if (pod.group_seat)
      plan.environments.back()[env::kRank] = std::to_string(pod.group_seat->first_rank + local_rank);
  }
  return plan;
}

}  // namespace ratoon::local
