#include "operator/kube/pods/member_pod.h"

#include "base/core/split_join.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/pods/member_container.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

Result<json> find_template(const api::TrainingJob& job, const std::string& role) {
  if (job.document) {
    for (const auto& item : items_of(child(*job.document, "spec"), "roles"))
      if (string_field(item, "name") == role) return child(item, "template");
  }
  return Error(ErrorKind::kInvalid, "the job has no role '" + role + "'");
}

void set_if_absent(json& object, const char* name, json value) {
  if (child(object, name).is_null()) object[name] = std::move(value);
}

// Returns the user's labels or annotations without Ratoon's own, because a user may have copied the template
// of another pod.
json without_ratoon_keys(const json& of_template) {
  const std::string prefix = std::string(names::kApiGroup) + "/";
  json kept = json::object();
  if (!of_template.is_object()) return kept;
  for (const auto& [name, value] : of_template.items())
    if (!name.starts_with(prefix)) kept[name] = value;
  return kept;
}

std::vector<std::string> init_container_names(const json& pod_spec) {
  std::vector<std::string> names;
  for (const json& container : items_of(pod_spec, "initContainers"))
    names.push_back(string_field(container, "name"));
  return names;
}

json make_metadata(const json& pod_template, const api::TrainingJob& job, const api::Pod& member,
                   const std::vector<std::string>& excluded, std::uint16_t port, const std::string& trainer) {
  namespace label = names::label;
  const json& of_template = child(pod_template, "metadata");
  json labels = without_ratoon_keys(child(of_template, "labels"));
  labels.update({{label::kJobName, job.meta.name},
                 {label::kJobUid, job.meta.uid},
                 {label::kRole, member.role},
                 {label::kIndex, std::to_string(member.index)},
                 {label::kIncarnation, std::to_string(member.incarnation)}});
  json annotations = without_ratoon_keys(child(of_template, "annotations"));
  if (api::reports_steps(job.spec)) {  // without the agent, the user's own annotations apply
    set_if_absent(annotations, "prometheus.io/scrape", "true");
    set_if_absent(annotations, "prometheus.io/port", std::to_string(port));
    set_if_absent(annotations, "prometheus.io/path", "/metrics");
  }
  if (member.group_rank_assignment && !member.group_rank_assignment->master_uid.empty())
    annotations[std::string(kMasterPodAnnotation)] = member.group_rank_assignment->master_uid;
  if (!excluded.empty()) annotations[names::annotation::kAvoidedNodes] = join(excluded, ",");
  annotations[std::string(kTrainerContainerAnnotation)] = trainer;
  annotations[std::string(kInitContainersAnnotation)] =
      join(init_container_names(child(pod_template, "spec")), ",");
  annotations[names::annotation::kMadeForAttempt] = std::to_string(job.status.attempt.value());
  const json owner = {{"apiVersion", names::kApiVersion},
                      {"kind", names::kKind},
                      {"name", job.meta.name},
                      {"uid", job.meta.uid},
                      {"controller", true},
                      {"blockOwnerDeletion", true}};
  return {{"name", member.name},
          {"namespace", job.meta.name_space},
          {"labels", std::move(labels)},
          {"annotations", std::move(annotations)},
          {"ownerReferences", json::array({owner})}};
}

void add_volumes(json& spec, const api::TrainingJob& job, bool has_agent, const PodSettings& settings) {
  json& volumes = spec["volumes"];
  if (!volumes.is_array()) volumes = json::array();
  const json token = {{"audience", names::kTokenAudience},
                      {"expirationSeconds", settings.token_seconds},
                      {"path", kTokenFileName}};
  const json projected = {{"sources", json::array({{{"serviceAccountToken", token}}})}};
  if (has_agent) volumes.push_back({{"name", kTokenVolume}, {"projected", projected}});
  if (api::uses_launcher(job.spec))
    volumes.push_back({{"name", kLauncherVolume}, {"emptyDir", json::object()}});
  const std::string& claim = job.spec.checkpoint_policy.volume_claim_name;
  if (!claim.empty())
    volumes.push_back({{"name", kCheckpointVolume}, {"persistentVolumeClaim", {{"claimName", claim}}}});
  // A staging volume uses the pod's memory, so it is added only if the job requests it.
  const std::uint64_t staging_mib = job.spec.checkpoint_policy.staging_memory_mib;
  if (staging_mib > 0) {
    const json memory = {{"medium", "Memory"}, {"sizeLimit", std::to_string(staging_mib) + "Mi"}};
    volumes.push_back({{"name", kStagingVolume}, {"emptyDir", memory}});
  }
}

// Adds the init container that copies ratoon-launcher into the pod, before the init containers of the user.
// The container has limits, because a ResourceQuota may demand limits of every container. Its requests equal
// its limits, so that the pod keeps its QoS class.
void add_launcher(json& spec, const PodSettings& settings) {
  const json resources = {{"cpu", "100m"}, {"memory", "32Mi"}};
  json container = {
      {"name", kLauncherVolume},
      {"image", settings.launcher_image},
      {"command", json::array({"/usr/local/bin/ratoon-launcher", "--install", kLauncherFile})},
      {"resources", {{"requests", resources}, {"limits", resources}}},
      {"securityContext", added_container_security(items_of(spec, "containers").front())},
      {"volumeMounts", json::array({{{"name", kLauncherVolume}, {"mountPath", kLauncherPath}}})}};
  if (!settings.launcher_pull_policy.empty()) container["imagePullPolicy"] = settings.launcher_pull_policy;
  json containers = json::array({std::move(container)});
  for (const auto& of_user : items_of(spec, "initContainers")) containers.push_back(of_user);
  spec["initContainers"] = std::move(containers);
}

// Makes kubelet keep the last log lines of a failed init container, to explain its failure.
void keep_last_log_lines(json& spec) {
  const auto containers = spec.find("initContainers");
  if (containers == spec.end() || !containers->is_array()) return;
  for (auto& container : *containers)
    if (container.is_object()) set_if_absent(container, "terminationMessagePolicy", "FallbackToLogsOnError");
}

Result<void> check_pod_spec(const api::TrainingJob& job, const json& spec, const PodSettings& settings) {
  const auto refuse = [](const std::string& sentence) { return Error(ErrorKind::kInvalid, sentence); };
  if (job.meta.uid.empty())
    return refuse("the job has no UID, so it is not from the API server: read it again");
  if (api::is_agentless(job.spec) && job.spec.processes_per_node > 1) {
    return refuse("processesPerNode is " + std::to_string(job.spec.processes_per_node) +
                  ", but a pod without the agent has one process: set it to 1 and raise numNodes");
  }
  if (api::uses_launcher(job.spec) && settings.launcher_image.empty()) {
    return refuse(
        "agent is Launcher, but the operator does not know the image with ratoon-launcher: start the "
        "operator "
        "with --launcher-image (the chart does), or use agent: None");
  }
  const json& containers = items_of(spec, "containers");
  if (containers.empty() || !containers.front().is_object())
    return refuse("the template has no container: add one that runs the trainer");
  for (const auto& volume : items_of(spec, "volumes")) {
    const std::string name = string_field(volume, "name");
    if (name == kTokenVolume || name == kCheckpointVolume || name == kStagingVolume ||
        name == kLauncherVolume)
      return refuse("the template has a volume '" + name +
                    "', a name that the operator uses itself: rename the volume");
  }
  return {};
}

}  // namespace

Result<json> make_member_pod(const api::TrainingJob& job, const api::Pod& member, const NodesToAvoid& shunned,
                             const PodSettings& settings) {
  const auto pod_template = find_template(job, member.role);
  if (!pod_template) return pod_template.error().with_context("pod " + member.name);
  json spec = child(*pod_template, "spec");
  if (const auto checked = check_pod_spec(job, spec, settings); !checked)
    return checked.error().with_context("role " + member.role);
  const std::uint16_t port = metrics_port_of(spec["containers"][0]);
  const std::string trainer = string_field(spec["containers"][0], "name");
  // Keep a grace period in the template: it is at least as long as the checkpoint policy's, because the API
  // server refuses a job with a shorter one.
  const std::uint32_t grace_seconds = job.spec.checkpoint_policy.grace_seconds;
  if (grace_seconds > 0) set_if_absent(spec, "terminationGracePeriodSeconds", grace_seconds);
  complete_trainer_container(spec, job, member, settings);
  if (api::uses_launcher(job.spec)) add_launcher(spec, settings);
  keep_last_log_lines(spec);
  add_volumes(spec, job, !member.group_rank_assignment, settings);
  const auto excluded = exclude_nodes(spec, shunned, job.meta.uid);
  pack_by(spec, job.spec.topology.pack_by, job.meta.uid);
  tolerate_lost_nodes_for(spec, settings.lost_node_toleration_seconds);
  spec["restartPolicy"] = "Never";  // never restarted: its replacement is a new incarnation
  set_if_absent(spec, "automountServiceAccountToken", false);
  return json{{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", make_metadata(*pod_template, job, member, excluded, port, trainer)},
              {"spec", std::move(spec)}};
}

}  // namespace ratoon::kube
