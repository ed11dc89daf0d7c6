#include "cli/cluster/reader/reader_container.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/contract/names.h"
#include "operator/api/trainer_environment.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/pods/member_container.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

const json& trainer_container_of(const json& pod_spec) {
  return kube::items_of(pod_spec, "containers").front();
}

bool is_deleted_with_pod(const json& volume) {
  const bool has_no_source = volume.size() == 1;  // such a volume is an emptyDir
  return volume.contains("emptyDir") || volume.contains("ephemeral") || has_no_source;
}

// Returns whether the variable is meant only for the trainer's image, because it changes how the programs of
// the image are found and loaded, or which devices they get.
bool is_for_trainers_image(std::string_view name) {
  return name == "PATH" || name.starts_with("LD_") || name.starts_with("NVIDIA_");
}

// The values that these variables have in the reader's image.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kReaderImageVariables = {
    {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
     {"LD_PRELOAD", ""},
     {"LD_LIBRARY_PATH", ""},
     {"LD_AUDIT", ""},
     {"NVIDIA_VISIBLE_DEVICES", "void"}}};

json variable(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

// Returns the variables of the trainer that say where checkpoints are and how to reach them. Ratoon's
// variables come first, so that a user's value may refer to them as $(NAME), as in a member's pod.
json reader_environment(const api::TrainingJob& job, const std::string& role, const json& container) {
  namespace env = names::env;
  json variables =
      json::array({variable(env::kJobNamespace, job.meta.name_space), variable(env::kJobName, job.meta.name),
                   variable(env::kJobUid, job.meta.uid), variable(env::kRole, role),
                   variable(env::kIndex, "0"), variable(env::kIncarnation, "0")});
  std::set<std::string> taken;
  for (const json& item : variables) taken.insert(kube::string_field(item, "name"));
  std::set<std::string> of_user;
  for (const json& item : kube::items_of(container, "env")) of_user.insert(kube::string_field(item, "name"));
  auto of_policies = api::trainer_environment(job);
  if (!job.spec.checkpoint_policy.volume_claim_name.empty())
    of_policies[env::kSaveFolder] = kube::kCheckpointPath;
  for (const auto& [name, value] : of_policies)
    if (!of_user.contains(name)) variables.push_back(variable(name, value));
  for (const json& item : kube::items_of(container, "env")) {
    const std::string name = kube::string_field(item, "name");
    if (!taken.contains(name) && !is_for_trainers_image(name)) variables.push_back(item);
  }
  return variables;
}

json reader_mounts(const api::TrainingJob& job, const json& pod_spec) {
  std::set<std::string> mounted;
  for (const json& volume : reader_volumes(job, pod_spec)) mounted.insert(kube::string_field(volume, "name"));
  json mounts = json::array();
  for (const json& item : kube::items_of(trainer_container_of(pod_spec), "volumeMounts")) {
    if (!mounted.contains(kube::string_field(item, "name"))) continue;
    json mount = item;
    mount.erase("mountPropagation");  // not allowed for a mount that is only read
    mount["readOnly"] = true;
    mounts.push_back(std::move(mount));
  }
  if (!job.spec.checkpoint_policy.volume_claim_name.empty())
    mounts.push_back(
        {{"name", kube::kCheckpointVolume}, {"mountPath", kube::kCheckpointPath}, {"readOnly", true}});
  return mounts;
}

}  // namespace

json reader_volumes(const api::TrainingJob& job, const json& pod_spec) {
  std::set<std::string> used;
  for (const json& mount : kube::items_of(trainer_container_of(pod_spec), "volumeMounts"))
    used.insert(kube::string_field(mount, "name"));
  json volumes = json::array();
  for (const json& volume : kube::items_of(pod_spec, "volumes"))
    if (used.contains(kube::string_field(volume, "name")) && !is_deleted_with_pod(volume))
      volumes.push_back(volume);
  if (const auto& claim = job.spec.checkpoint_policy.volume_claim_name; !claim.empty())
    volumes.push_back({{"name", kube::kCheckpointVolume}, {"persistentVolumeClaim", {{"claimName", claim}}}});
  return volumes;
}

json make_reader_container(const api::TrainingJob& job, const std::string& role, const json& pod_spec,
                           const std::string& image, const std::vector<std::string>& words) {
  const json& trainer = trainer_container_of(pod_spec);
  json container = {
      {"name", kReaderContainer},
      {"image", image},
      {"imagePullPolicy", "IfNotPresent"},
      {"command", json::array({"ratoon"})},
      {"args", words},
      {"env", reader_environment(job, role, trainer)},
      {"volumeMounts", reader_mounts(job, pod_spec)},
      {"securityContext", kube::added_container_security(trainer)},
      // Set both requests and limits, because a quota of the namespace may demand both.
      {"resources",
       {{"requests", {{"cpu", "100m"}, {"memory", "256Mi"}}}, {"limits", {{"cpu", "1"}, {"memory", "1Gi"}}}}},
      {"terminationMessagePolicy", "FallbackToLogsOnError"}};
  if (const json& sources = kube::items_of(trainer, "envFrom"); !sources.empty()) {
    container["envFrom"] = sources;
    // Variables in `env` take precedence over those of `envFrom`, whose names are not known here.
    for (const auto& [name, value] : kReaderImageVariables)
      container["env"].push_back(variable(std::string(name), std::string(value)));
  }
  return container;
}

}  // namespace ratoon::cli
