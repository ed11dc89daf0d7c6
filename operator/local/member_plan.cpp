#include "operator/local/member_plan.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/contract/names.h"
#include "operator/api/trainer_environment.h"
#include "operator/api/variables.h"

namespace ratoon::local {
namespace {

namespace env = names::env;

// Where the member sits and whom it calls: whatever the template says of these.
api::Environment place_environment(const api::TrainingJob& job, const api::Pod& pod,
                                   const MemberPlaces& places) {
  api::Environment place;
  place[env::kJobNamespace] = job.meta.name_space;
  place[env::kJobName] = job.meta.name;
  place[env::kJobUid] = places.job_uid;
  place[env::kRole] = pod.role;
  place[env::kIndex] = std::to_string(pod.index);
  place[env::kIncarnation] = std::to_string(pod.incarnation);
  place[env::kMemberUid] = pod.uid;
  place[env::kProcessesPerNode] = std::to_string(job.spec.processes_per_node);
  place[env::kSaveFolder] = places.save_folder.string();
  if (pod.group_seat) {
    place[env::kMasterAddress] = pod.address;  // all are here
    place[env::kWorldSize] = std::to_string(pod.group_seat->world_size);
  } else {
    place[env::kCoordinatorUrl] = "http://127.0.0.1:" + std::to_string(places.coordinator_port);
    place[env::kTokenFile] = places.token_file.string();
    place[env::kLifelineFd] = "3";
  }
  return place;
}

// What all processes of the member are told. As on a cluster, the template's values may refer to all of ours,
// and win over those that say how it trains.
api::Environment common_environment(const api::TrainingJob& job, const api::Role& role, const api::Pod& pod,
                                    const MemberPlaces& places) {
  const api::Environment place = place_environment(job, pod, places);
  api::Environment common = place;
  common.merge(api::trainer_environment(job));
  if (places.staging_folder) common[env::kStagingFolder] = places.staging_folder->string();
  if (pod.group_seat) common[env::kMasterPort] = std::to_string(places.group_port);
  common = api::expand_environment(role.environment, std::move(common));
  for (const auto& [name, value] : place) common[name] = value;
  return common;
}

}  // namespace

LaunchPlan plan_member(const api::TrainingJob& job, const api::Pod& pod, const MemberPlaces& places) {
  const auto role = std::ranges::find(job.spec.roles, pod.role, &api::Role::name);
  const auto common = common_environment(job, *role, pod, places);
  LaunchPlan plan{.command = {},
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
  // A container has one list of words, which its first process tells for all.
  for (const std::string& word : role->command)
    plan.command.push_back(api::expand_variables(word, plan.environments.front()));
  return plan;
}

}  // namespace ratoon::local
