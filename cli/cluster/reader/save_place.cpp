#include "cli/cluster/reader/save_place.h"

#include <cstddef>

#include "base/contract/names.h"
#include "base/core/split_join.h"
#include "operator/api/trainer_environment.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/pods/member_container.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

bool is_url(const std::string& place) {
  return place.find("://") != std::string::npos;
}

std::string run_name_in(const api::TrainingJob& job, const json& container) {
  for (const json& item : kube::items_of(container, "env"))
    if (kube::string_field(item, "name") == names::env::kRunName) return kube::string_field(item, "value");
  return api::trainer_environment(job).at(names::env::kRunName);
}

// Returns the run's place below `folder`, the value of RATOON_SAVE_FOLDER. Leaves `path` empty if this
// program cannot know it, because a value refers to other variables or comes from a Secret.
SavePlace place_from_save_folder(const api::TrainingJob& job, const json& container,
                                 const std::string& folder) {
  const std::string name = run_name_in(job, container);
  const bool is_known = !folder.empty() && !name.empty() && (folder + name).find('$') == std::string::npos;
  return {.argument = std::string("$(") + names::env::kSaveFolder + ")/$(" + names::env::kRunName + ")",
          .path = is_known ? folder + "/" + name : ""};
}

// Returns whether the mount at `mount` has the files below `path`.
bool contains_path(const std::string& mount, const std::string& path) {
  if (mount.empty() || !path.starts_with(mount)) return false;
  return mount.ends_with('/') || path.size() == mount.size() || path[mount.size()] == '/';
}

// Returns the volume that has the files below `path`, or null.
json volume_of(const std::string& path, const json& pod_spec) {
  std::string name;
  std::size_t longest = 0;
  const json& containers = kube::items_of(pod_spec, "containers");
  if (containers.empty()) return {};
  for (const json& mount : kube::items_of(containers.front(), "volumeMounts")) {
    const std::string at = kube::string_field(mount, "mountPath");
    if (!contains_path(at, path) || at.size() < longest) continue;
    longest = at.size();
    name = kube::string_field(mount, "name");
  }
  for (const json& volume : kube::items_of(pod_spec, "volumes"))
    if (!name.empty() && kube::string_field(volume, "name") == name) return volume;
  return {};
}

Error unreachable_place_error(const std::string& path, const api::TrainingJob& job, const std::string& why) {
  const auto& stores = job.spec.checkpoint_policy.stores;
  const std::string copies = stores.empty() ? "save on a volume or in an object store that outlives the pod"
                                            : "name a copy with --location, such as " + stores.front() + "/" +
                                                  api::trainer_environment(job).at(names::env::kRunName);
  return {ErrorKind::kInvalid,
          "no other pod can read the checkpoints in " + path + ": " + why + "; " + copies};
}

}  // namespace

std::string literal_argument(const std::string& text) {
  std::string literal;
  for (const char c : text) literal += c == '$' ? "$$" : std::string(1, c);
  return literal;
}

std::optional<SavePlace> find_save_place(const api::TrainingJob& job, const json& container) {
  if (const std::string& said = job.status.save_location; !said.empty())
    return SavePlace{.argument = literal_argument(said), .path = said};
  for (const json& item : kube::items_of(container, "env"))
    if (kube::string_field(item, "name") == names::env::kSaveFolder)
      return place_from_save_folder(job, container, kube::string_field(item, "value"));
  if (job.spec.checkpoint_policy.volume_claim_name.empty()) return std::nullopt;
  return place_from_save_folder(job, container, kube::kCheckpointPath);
}

Result<bool> is_on_node(const std::string& path, const api::TrainingJob& job, const json& pod_spec) {
  if (path.empty() || is_url(path)) return false;
  if (!path.starts_with('/'))
    return unreachable_place_error(path, job,
                                   "the path is relative to the working folder of the trainer's container");
  if (!job.spec.checkpoint_policy.volume_claim_name.empty() && contains_path(kube::kCheckpointPath, path))
    return false;
  const json volume = volume_of(path, pod_spec);
  if (volume.is_null())
    return unreachable_place_error(path, job,
                                   "no volume is mounted there, so checkpoints are lost with the container");
  if (volume.contains("hostPath")) return true;
  const bool has_no_source = volume.size() == 1;  // such a volume is an emptyDir
  if (volume.contains("emptyDir") || volume.contains("ephemeral") || has_no_source)
    return unreachable_place_error(
        path, job, "the volume '" + kube::string_field(volume, "name") + "' ends with the member's pod");
  return false;
}

}  // namespace ratoon::cli
