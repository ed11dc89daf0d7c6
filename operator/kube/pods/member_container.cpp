#include "operator/kube/pods/member_container.h"

#include <set>
#include <string>

#include "base/contract/names.h"
#include "operator/api/trainer_environment.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

constexpr const char* kTerminationPath = "/dev/termination-log";  // the server's default

json variable(const char* name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

json from_field(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

// Returns variables that identify the process. These variables replace variables with the same names in the
// user's template.
json identity_variables(const api::TrainingJob& job, const api::Pod& member) {
  namespace env = names::env;
  json variables = json::array({
      variable(env::kJobNamespace, job.meta.name_space),
      variable(env::kJobName, job.meta.name),
      variable(env::kJobUid, job.meta.uid),
      variable(env::kRole, member.role),
      variable(env::kIndex, std::to_string(member.index)),
      variable(env::kIncarnation, std::to_string(member.incarnation)),
      from_field(env::kMemberUid, "metadata.uid"),
      from_field(env::kPodIp, "status.podIP"),
      variable(env::kProcessesPerNode, std::to_string(job.spec.processes_per_node)),
  });
  // If a member has several processes, `ratoon launch` sets LOCAL_RANK for each process.
  if (job.spec.processes_per_node == 1) variables.push_back(variable(env::kLocalRank, "0"));
  return variables;
}

// Returns variables with the coordinator's address and the path of the token for the coordinator.
json agent_variables(const PodSettings& settings) {
  namespace env = names::env;
  json variables = json::array({variable(env::kCoordinatorUrl, settings.coordinator_url),
                                variable(env::kTokenFile, std::string(kTokenPath) + "/" + kTokenFileName)});
  if (!settings.coordinator_ca.empty())
    variables.push_back(variable(env::kCoordinatorCa, settings.coordinator_ca));
  if (!settings.coordinator_name.empty())
    variables.push_back(variable(env::kCoordinatorName, settings.coordinator_name));
  return variables;
}

// Returns rank and world size for a program without the agent, which cannot ask the coordinator.
json group_variables(const api::GroupSeat& seat) {
  namespace env = names::env;
  return json::array({seat.master_address.empty() ? from_field(env::kMasterAddress, "status.podIP")
                                                  : variable(env::kMasterAddress, seat.master_address),
                      variable(env::kRank, std::to_string(seat.first_rank)),
                      variable(env::kWorldSize, std::to_string(seat.world_size))});
}

json place_variables(const api::TrainingJob& job, const api::Pod& member, const PodSettings& settings) {
  json variables = identity_variables(job, member);
  const json of_kind = member.group_seat ? group_variables(*member.group_seat) : agent_variables(settings);
  variables.insert(variables.end(), of_kind.begin(), of_kind.end());
  return variables;
}

// Returns variables for settings of the training; variables in the user's pod template take precedence.
json default_variables(const api::TrainingJob& job, const api::Pod& member, const json& pod_spec,
                       const json& container) {
  namespace env = names::env;
  const auto& policy = job.spec.checkpoint_policy;
  const std::string path = text_in(container, "terminationMessagePath");
  json variables = json::array({
      variable(env::kTerminationFile, path.empty() ? kTerminationPath : path),
      variable(env::kMetricsPort, std::to_string(metrics_port_of(container))),
  });
  if (member.group_seat)
    variables = json::array({variable(env::kMasterPort, std::to_string(names::port::kMaster))});
  auto of_policies = api::trainer_environment(job);
  // Uses the pod's actual grace period, which may be longer than the checkpoint policy's. Without a grace
  // period in the pod, Kubernetes and the agent both use 30 seconds.
  if (const auto grace = whole_in(pod_spec, "terminationGracePeriodSeconds"))
    of_policies[env::kGraceSeconds] = std::to_string(*grace);
  for (const auto& [name, value] : of_policies) variables.push_back(variable(name.c_str(), value));
  if (policy.staging_memory_mib > 0) variables.push_back(variable(env::kStagingFolder, kStagingPath));
  // If the job names no claim, the user's template mounts a volume and sets the save folder itself.
  if (!policy.volume_claim_name.empty()) variables.push_back(variable(env::kSaveFolder, kCheckpointPath));
  return variables;
}

std::set<std::string> names_in(const json& variables) {
  std::set<std::string> found;
  for (const auto& item : variables) found.insert(text_in(item, "name"));
  return found;
}

// Ratoon's variables come first, so that a user's value may refer to them as $(NAME).
json merge_environment(const json& identity, const json& habits, const json& of_user) {
  const auto user_names = names_in(of_user);
  const auto identity_names = names_in(identity);
  json merged = identity;
  for (const auto& item : habits)
    if (!user_names.contains(text_in(item, "name"))) merged.push_back(item);
  for (const auto& item : of_user)
    if (!identity_names.contains(text_in(item, "name"))) merged.push_back(item);
  return merged;
}

json& list_in(json& object, const char* name) {
  json& list = object[name];
  if (!list.is_array()) list = json::array();
  return list;
}

void add_port(json& ports, const std::string& name, std::uint32_t port) {
  for (const auto& item : ports)
    if (whole_in(item, "containerPort") == port || text_in(item, "name") == name) return;
  ports.push_back({{"name", name}, {"containerPort", port}, {"protocol", "TCP"}});
}

// Adds one port for each process's /metrics; Prometheus finds the ports by their names.
void add_metrics_ports(json& container, std::uint32_t first, std::uint32_t processes) {
  constexpr std::uint32_t kPortMax = 65535;
  json& ports = list_in(container, "ports");
  add_port(ports, "metrics", first);
  for (std::uint32_t rank = 1; rank < processes && first + rank <= kPortMax; ++rank)
    add_port(ports, "metrics-" + std::to_string(rank), first + rank);
}

}  // namespace

std::uint16_t metrics_port_of(const json& container) {
  for (const auto& item : items_of(container, "env")) {
    if (text_in(item, "name") != names::env::kMetricsPort) continue;
    const auto port = parse_whole(text_in(item, "value"));
    if (port && *port > 0 && *port <= 65535) return static_cast<std::uint16_t>(*port);
  }
  return names::port::kAgentMetrics;
}

void complete_trainer(json& pod_spec, const api::TrainingJob& job, const api::Pod& member,
                      const PodSettings& settings) {
  json& container = pod_spec["containers"][0];
  if (!member.group_seat)
    add_metrics_ports(container, metrics_port_of(container), job.spec.processes_per_node);
  container["env"] =
      merge_environment(place_variables(job, member, settings),
                        default_variables(job, member, pod_spec, container), items_of(container, "env"));
  // Kubelet must never restart the container: the operator replaces it by a new incarnation (pod).
  for (const char* habit : {"restartPolicy", "restartPolicyRules"}) container.erase(habit);
  // The termination file contains the completion record. If a trainer fails without a record, kubelet uses
  // the log's last lines as the termination message.
  container["terminationMessagePolicy"] = "FallbackToLogsOnError";
  json& mounts = list_in(container, "volumeMounts");
  if (!member.group_seat)
    mounts.push_back({{"name", kTokenVolume}, {"mountPath", kTokenPath}, {"readOnly", true}});
  if (!job.spec.checkpoint_policy.volume_claim_name.empty())
    mounts.push_back({{"name", kCheckpointVolume}, {"mountPath", kCheckpointPath}});
  if (job.spec.checkpoint_policy.staging_memory_mib > 0)
    mounts.push_back({{"name", kStagingVolume}, {"mountPath", kStagingPath}});
}

}  // namespace ratoon::kube
