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

json make_variable(const char* name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

json variable_from_field(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

// Returns variables that identify the process. The returned variables take precedence over variables with the
// same names in the user's template.
json identity_variables(const api::TrainingJob& job, const api::Pod& member) {
  namespace env = names::env;
  json variables = json::array({
      make_variable(env::kJobNamespace, job.meta.name_space),
      make_variable(env::kJobName, job.meta.name),
      make_variable(env::kJobUid, job.meta.uid),
      make_variable(env::kRole, member.role),
      make_variable(env::kIndex, std::to_string(member.index)),
      make_variable(env::kIncarnation, std::to_string(member.incarnation)),
      variable_from_field(env::kMemberUid, "metadata.uid"),
      variable_from_field(env::kPodIp, "status.podIP"),
      make_variable(env::kProcessesPerNode, std::to_string(job.spec.processes_per_node)),
  });
  // If a member has several processes, `ratoon launch` sets LOCAL_RANK for each process.
  if (job.spec.processes_per_node == 1) variables.push_back(make_variable(env::kLocalRank, "0"));
  return variables;
}

// Returns variables with the coordinator's address and the path of the token for the coordinator.
json agent_variables(const PodSettings& settings) {
  namespace env = names::env;
  json variables =
      json::array({make_variable(env::kCoordinatorUrl, settings.coordinator_url),
                   make_variable(env::kTokenFile, std::string(kTokenPath) + "/" + kTokenFileName)});
  if (!settings.coordinator_ca.empty())
    variables.push_back(make_variable(env::kCoordinatorCa, settings.coordinator_ca));
  if (!settings.coordinator_name.empty())
    variables.push_back(make_variable(env::kCoordinatorName, settings.coordinator_name));
  return variables;
}

// Returns variables with rank and world size for a program without the agent, because no coordinator tells
// them to such a program.
json group_variables(const api::GroupRankAssignment& seat) {
  namespace env = names::env;
  return json::array({seat.master_address.empty() ? variable_from_field(env::kMasterAddress, "status.podIP")
                                                  : make_variable(env::kMasterAddress, seat.master_address),
                      make_variable(env::kRank, std::to_string(seat.first_rank)),
                      make_variable(env::kWorldSize, std::to_string(seat.world_size))});
}

// Returns the additional variables of ratoon-launcher.
json launcher_variables() {
  namespace env = names::env;
  return json::array({make_variable(env::kNoticeFile, std::string(kLauncherPath) + "/notice.json")});
}

json member_variables(const api::TrainingJob& job, const api::Pod& member, const PodSettings& settings) {
  json variables = identity_variables(job, member);
  const json of_kind = member.group_rank_assignment ? group_variables(*member.group_rank_assignment)
                                                    : agent_variables(settings);
  variables.insert(variables.end(), of_kind.begin(), of_kind.end());
  if (!api::uses_launcher(job.spec)) return variables;
  const json of_launcher = launcher_variables();
  variables.insert(variables.end(), of_launcher.begin(), of_launcher.end());
  return variables;
}

// Returns variables for settings of the training; variables in the user's pod template take precedence.
json default_variables(const api::TrainingJob& job, const json& pod_spec, const json& container) {
  namespace env = names::env;
  const auto& policy = job.spec.checkpoint_policy;
  const std::string path = string_field(container, "terminationMessagePath");
  json variables = json::array({
      make_variable(env::kTerminationFile, path.empty() ? kTerminationPath : path),
      make_variable(env::kMetricsPort, std::to_string(metrics_port_of(container))),
  });
  if (!api::reports_steps(job.spec))
    variables = json::array({make_variable(env::kMasterPort, std::to_string(names::port::kMaster))});
  auto of_policies = api::trainer_environment(job);
  // Uses the grace period of the pod, which may be longer than that of the checkpoint policy. If the pod has
  // no grace period, Kubernetes and the agent both use 30 seconds.
  if (const auto grace = int_field(pod_spec, "terminationGracePeriodSeconds"))
    of_policies[env::kGraceSeconds] = std::to_string(*grace);
  for (const auto& [name, value] : of_policies) variables.push_back(make_variable(name.c_str(), value));
  if (policy.staging_memory_mib > 0) variables.push_back(make_variable(env::kStagingFolder, kStagingPath));
  // Without a claim, do not set the save folder: the user's template must mount a volume and set the folder.
  if (!policy.volume_claim_name.empty())
    variables.push_back(make_variable(env::kSaveFolder, kCheckpointPath));
  return variables;
}

std::set<std::string> variable_names_in(const json& variables) {
  std::set<std::string> found;
  for (const auto& item : variables) found.insert(string_field(item, "name"));
  return found;
}

// Ratoon's variables come first, so that a user's value may refer to them as $(NAME).
json merge_environment(const json& identity, const json& habits, const json& of_user) {
  const auto user_names = variable_names_in(of_user);
  const auto identity_names = variable_names_in(identity);
  json merged = identity;
  for (const auto& item : habits)
    if (!user_names.contains(string_field(item, "name"))) merged.push_back(item);
  for (const auto& item : of_user)
    if (!identity_names.contains(string_field(item, "name"))) merged.push_back(item);
  return merged;
}

// Lets ratoon-launcher start the command.
void wrap_command_in_launcher(json& container) {
  json command = json::array({kLauncherFile, "--"});
  for (const auto& word : items_of(container, "command")) command.push_back(word);
  container["command"] = std::move(command);
}

void add_port(json& ports, const std::string& name, std::uint32_t port) {
  for (const auto& item : ports)
    if (int_field(item, "containerPort") == port || string_field(item, "name") == name) return;
  ports.push_back({{"name", name}, {"containerPort", port}, {"protocol", "TCP"}});
}

// Adds one port for each process's /metrics; Prometheus finds the ports by their names.
void add_metrics_ports(json& container, std::uint32_t first, std::uint32_t processes) {
  constexpr std::uint32_t kPortMax = 65535;
  json& ports = ensure_list(container, "ports");
  add_port(ports, "metrics", first);
  for (std::uint32_t rank = 1; rank < processes && first + rank <= kPortMax; ++rank)
    add_port(ports, "metrics-" + std::to_string(rank), first + rank);
}

}  // namespace

std::uint16_t metrics_port_of(const json& container) {
  for (const auto& item : items_of(container, "env")) {
    if (string_field(item, "name") != names::env::kMetricsPort) continue;
    const auto port = parse_unsigned(string_field(item, "value"));
    if (port && *port > 0 && *port <= 65535) return static_cast<std::uint16_t>(*port);
  }
  return names::port::kAgentMetrics;
}

json added_container_security(const json& container) {
  json security = {{"allowPrivilegeEscalation", false},
                   {"readOnlyRootFilesystem", true},
                   {"capabilities", {{"drop", json::array({"ALL"})}}}};
  const json& of_user = child(container, "securityContext");
  for (const char* field : {"runAsUser", "runAsGroup", "runAsNonRoot", "seLinuxOptions", "seccompProfile"})
    if (const json& value = child(of_user, field); !value.is_null()) security[field] = value;
  return security;
}

void complete_trainer_container(json& pod_spec, const api::TrainingJob& job, const api::Pod& member,
                                const PodSettings& settings) {
  json& container = pod_spec["containers"][0];
  if (api::uses_launcher(job.spec)) wrap_command_in_launcher(container);
  if (api::reports_steps(job.spec))
    add_metrics_ports(container, metrics_port_of(container), job.spec.processes_per_node);
  container["env"] =
      merge_environment(member_variables(job, member, settings), default_variables(job, pod_spec, container),
                        items_of(container, "env"));
  // Kubelet must never restart the container: the operator replaces its pod by a new incarnation.
  for (const char* habit : {"restartPolicy", "restartPolicyRules"}) container.erase(habit);
  // If a trainer completes, the termination file contains its completion record. If a trainer fails and
  // leaves the file empty, kubelet uses the last log lines as the termination message.
  container["terminationMessagePolicy"] = "FallbackToLogsOnError";
  json& mounts = ensure_list(container, "volumeMounts");
  if (!member.group_rank_assignment)
    mounts.push_back({{"name", kTokenVolume}, {"mountPath", kTokenPath}, {"readOnly", true}});
  if (api::uses_launcher(job.spec))
    mounts.push_back({{"name", kLauncherVolume}, {"mountPath", kLauncherPath}});
  if (!job.spec.checkpoint_policy.volume_claim_name.empty())
    mounts.push_back({{"name", kCheckpointVolume}, {"mountPath", kCheckpointPath}});
  if (job.spec.checkpoint_policy.staging_memory_mib > 0)
    mounts.push_back({{"name", kStagingVolume}, {"mountPath", kStagingPath}});
}

}  // namespace ratoon::kube
