#include "cli/cluster/reader/reader_pod.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/contract/names.h"
#include "cli/cluster/reader/reader_container.h"
#include "cli/cluster/reader/save_place.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr std::uint32_t kPodGraceSeconds = 1;  // the reader has nothing to save
constexpr int kNodePreferenceWeight = 100;     // the greatest
constexpr const char* kRequiredNodeAffinity = "requiredDuringSchedulingIgnoredDuringExecution";

std::string job_text(const api::TrainingJob& job) {
  return "TrainingJob '" + job.meta.name + "'";
}

// Returns the first role, which can stand for all roles, because all roles of a job save in one place.
const json& first_role(const api::TrainingJob& job) {
  return kube::items_of(kube::child(*job.document, "spec"), "roles").front();
}

// Returns the user's labels or annotations, because network policies may select the pods that can reach a
// store by them. Leaves out Ratoon's labels (a member has them) and Kueue's (such a pod waits in a queue).
json remove_ratoon_labels(const json& of_template) {
  json kept = json::object();
  if (!of_template.is_object()) return kept;
  const auto is_left_out = [](std::string_view name) {
    return name.starts_with("ratoon.dev/") || name.starts_with("kueue.x-k8s.io/");
  };
  for (const auto& [name, value] : of_template.items())
    if (!is_left_out(name)) kept[name] = value;
  return kept;
}

json make_metadata(const api::TrainingJob& job, const json& of_template) {
  json labels = remove_ratoon_labels(kube::child(of_template, "labels"));
  labels["app.kubernetes.io/managed-by"] = "kubectl-ratoon";
  const json owner = {{"apiVersion", names::kApiVersion},
                      {"kind", names::kKind},
                      {"name", job.meta.name},
                      {"uid", job.meta.uid}};
  return {{"generateName", job.meta.name + "-reader-"},
          {"namespace", job.meta.name_space},
          {"labels", std::move(labels)},
          {"annotations", remove_ratoon_labels(kube::child(of_template, "annotations"))},
          {"ownerReferences", json::array({owner})}};
}

// Returns the present node or, after the job's end, the last node of the member with the lowest index.
std::string node_of_member(const api::TrainingJob& job) {
  const api::MemberStatus* first = nullptr;
  for (const api::MemberStatus& member : job.status.members)
    if (!member.node.empty() && (first == nullptr || member.index < first->index)) first = &member;
  return first == nullptr ? "" : first->node;
}

// Makes the scheduler place the pod on the node or, without `is_required`, prefer the node. A claim with the
// access mode ReadWriteOnce can be mounted on only one node at a time. The result of device_tolerations()
// lets the pod run on nodes with devices.
void set_node_affinity(const std::string& node, bool is_required, json& spec) {
  const json at_node = {{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array({node})}};
  json& affinity = spec["affinity"]["nodeAffinity"];
  if (!is_required) {
    affinity["preferredDuringSchedulingIgnoredDuringExecution"] = json::array(
        {{{"weight", kNodePreferenceWeight}, {"preference", {{"matchFields", json::array({at_node})}}}}});
    return;
  }
  json& terms = affinity[kRequiredNodeAffinity]["nodeSelectorTerms"];
  if (!terms.is_array() || terms.empty()) terms = json::array({json::object()});
  for (json& term : terms) {
    if (!kube::child(term, "matchFields").is_array()) term["matchFields"] = json::array();
    term["matchFields"].push_back(at_node);
  }
}

// Returns tolerations for the taints of nodes with the trainer's devices. Kubernetes adds such tolerations to
// a pod that requests the devices (admission plugin ExtendedResourceToleration); the reader requests none.
json device_tolerations(const json& container) {
  json tolerations = json::array();
  for (const auto& [name, amount] : kube::child(kube::child(container, "resources"), "limits").items())
    if (name.find('/') != std::string::npos)
      tolerations.push_back({{"key", name}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
  return tolerations;
}

// Copies fields that decide where the pod may run, as which user, and how it reaches its stores. Leaves out
// fields that are null, because the platform may set their values.
json copy_fields(const json& of_template) {
  constexpr std::array kFields = {"serviceAccountName", "imagePullSecrets", "securityContext",
                                  "nodeSelector",       "tolerations",      "hostNetwork",
                                  "dnsPolicy",          "dnsConfig",        "hostAliases"};
  json spec = json::object();
  for (const char* field : kFields)
    if (const json& value = kube::child(of_template, field); !value.is_null()) spec[field] = value;
  const json& affinity = kube::child(kube::child(of_template, "affinity"), "nodeAffinity");
  if (const json& required = kube::child(affinity, kRequiredNodeAffinity); !required.is_null())
    spec["affinity"]["nodeAffinity"][kRequiredNodeAffinity] = required;
  return spec;
}

Result<SavePlace> choose_save_place(const api::TrainingJob& job, const ReaderRequest& request,
                                    const json& container) {
  if (!request.location.empty())
    return SavePlace{.argument = literal_argument(request.location), .path = request.location};
  if (auto found = find_save_place(job, container)) return *std::move(found);
  return Error(
      ErrorKind::kNotFound,
      job_text(job) +
          " has not reported where it saves, because no member has joined a world yet: name the folder "
          "in its pods, or the URL, with --location");
}

Result<std::string> choose_image(const api::TrainingJob& job, const ReaderRequest& request) {
  if (!request.image.empty()) return request.image;
  if (!job.status.operator_image.empty()) return job.status.operator_image;
  return Error(ErrorKind::kInvalid, "the status of " + job_text(job) +
                                        " names no image of an operator: upgrade the operator, or name an "
                                        "image that has the command `ratoon` with --image");
}

Result<void> check_roles(const api::TrainingJob& job) {
  if (api::reports_steps(job.spec)) return {};
  return Error(
      ErrorKind::kInvalid,
      "the members of " + job_text(job) +
          " run without Ratoon's agent (agent is None or Launcher), so Ratoon knows no checkpoints of them");
}

Result<std::string> choose_node(const api::TrainingJob& job, const ReaderRequest& request,
                                const SavePlace& place, bool is_required) {
  const std::string node = request.node.empty() ? node_of_member(job) : request.node;
  if (!is_required || !node.empty()) return node;
  return Error(ErrorKind::kInvalid, place.path + " is on a hostPath volume, and the status of " +
                                        job_text(job) +
                                        " names no node of a member: name the node with --node");
}

}  // namespace

bool is_save_place_known(const api::TrainingJob& job) {
  const json& spec = kube::child(kube::child(first_role(job), "template"), "spec");
  return api::reports_steps(job.spec) &&
         find_save_place(job, kube::items_of(spec, "containers").front()).has_value();
}

Result<json> make_reader_pod(const api::TrainingJob& job, const ReaderRequest& request) {
  if (const auto checked = check_roles(job); !checked) return checked.error();
  const json& role = first_role(job);
  const json& of_template = kube::child(role, "template");
  const json& pod_spec = kube::child(of_template, "spec");
  const json& trainer = kube::items_of(pod_spec, "containers").front();
  const auto place = choose_save_place(job, request, trainer);
  if (!place) return place.error();
  const auto is_required = is_on_node(place->path, job, pod_spec);
  if (!is_required) return is_required.error();
  const auto image = choose_image(job, request);
  if (!image) return image.error();
  const auto node = choose_node(job, request, *place, *is_required || !request.node.empty());
  if (!node) return node.error();

  json spec = copy_fields(pod_spec);
  for (json& toleration : device_tolerations(trainer)) spec["tolerations"].push_back(std::move(toleration));
  if (!node->empty()) set_node_affinity(*node, *is_required || !request.node.empty(), spec);
  std::vector<std::string> words = {"relay", "--"};
  for (const std::string& word : request.words) words.push_back(literal_argument(word));
  words.push_back(place->argument);
  const json& automount = kube::child(pod_spec, "automountServiceAccountToken");
  spec.update({{"restartPolicy", "Never"},
               {"activeDeadlineSeconds", request.seconds_max},
               {"terminationGracePeriodSeconds", kPodGraceSeconds},
               {"automountServiceAccountToken", automount.is_boolean() ? automount : json(false)},
               {"enableServiceLinks", false},
               {"volumes", reader_volumes(job, pod_spec)},
               {"containers", json::array({make_reader_container(job, kube::string_field(role, "name"),
                                                                 pod_spec, *image, words)})}});
  return json{{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", make_metadata(job, kube::child(of_template, "metadata"))},
              {"spec", std::move(spec)}};
}

}  // namespace ratoon::cli
