#include "operator/kube/pods/pod_codec.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/contract/codec.h"
#include "base/contract/names.h"
#include "base/core/never_destroyed.h"
#include "base/core/split_join.h"
#include "base/core/utf8.h"
#include "operator/api/training_job.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/pods/member_container.h"
#include "operator/kube/pods/member_pod.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

constexpr std::size_t kReasonBytesMax = 1024;

std::optional<std::uint32_t> number_in_label(const json& labels, std::string_view name) {
  const auto value = parse_unsigned(string_field(labels, std::string(name).c_str()));
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::string read_label(const json& labels, std::string_view name) {
  return string_field(labels, std::string(name).c_str());
}

// Returns the nodes that the operator excluded when it created the pod. A user may have written other texts
// into the annotation, as long as the API server accepts.
std::vector<std::string> read_avoided_nodes(const json& annotations) {
  constexpr std::size_t kNodesMax = 256;
  constexpr std::size_t kNameBytesMax = 253;
  auto nodes = split(read_label(annotations, names::annotation::kAvoidedNodes), ',');
  std::erase_if(nodes, [](const std::string& node) { return node.size() > kNameBytesMax; });
  nodes.resize(std::min(nodes.size(), kNodesMax));
  return nodes;
}

const json& null_json() {
  static const NeverDestroyed<json> kNothing;
  return *kNothing;
}

const json& terminated_state_of(const json& container_status) {
  return child(child(container_status, "state"), "terminated");
}

// Finds a container's status by name, because the order may differ from that of the spec.
const json& find_container_status(const json& statuses, const std::string& name) {
  for (const auto& status : statuses)
    if (string_field(status, "name") == name) return status;
  return null_json();
}

bool is_any_sidecar_running(const json& status, const std::string& trainer) {
  const std::string phase = string_field(status, "phase");
  if (phase == "Succeeded" || phase == "Failed") return false;
  return std::ranges::any_of(items_of(status, "containerStatuses"), [&](const json& container) {
    return string_field(container, "name") != trainer && !terminated_state_of(container).is_object();
  });
}

// Returns the status of the init container whose failure kept the trainer from running. Ignores sidecars,
// which are init containers with a restartPolicy.
const json& find_failed_init(const json& pod) {
  const json& status = child(pod, "status");
  if (string_field(status, "phase") != "Failed") return null_json();
  for (const auto& container : items_of(child(pod, "spec"), "initContainers")) {
    if (!string_field(container, "restartPolicy").empty()) continue;
    const json& known =
        find_container_status(items_of(status, "initContainerStatuses"), string_field(container, "name"));
    if (int_field(terminated_state_of(known), "exitCode").value_or(0) != 0) return known;
  }
  return null_json();
}

// Returns whether the job's template has this init container. A pod of an earlier version of the operator has
// no list of the template's init containers: then all count as the template's.
bool is_init_container_of_template(const json& document, const std::string& name) {
  const json& annotations = child(child(document, "metadata"), "annotations");
  if (!annotations.contains(std::string(kInitContainersAnnotation))) return true;
  const auto names = split(read_label(annotations, kInitContainersAnnotation), ',');
  return std::ranges::find(names, name) != names.end();
}

const json& find_condition(const json& status, std::string_view type) {
  for (const auto& item : items_of(status, "conditions"))
    if (string_field(item, "type") == type) return item;
  return null_json();
}

// Returns whether kubelet itself ended or refused the pod, even if the condition DisruptionTarget is missing.
bool is_platform_reason(const std::string& reason) {
  constexpr std::array<std::string_view, 9> kReasons = {"Evicted",
                                                        "Preempting",
                                                        "NodeShutdown",
                                                        "Shutdown",
                                                        "Terminated",
                                                        "NodeLost",
                                                        "NodeAffinity",
                                                        "UnexpectedAdmissionError",
                                                        "ContainerStatusUnknown"};
  return reason.starts_with("OutOf") || std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end();
}

bool is_evicted(const json& status, const json& terminated, api::PodPhase phase) {
  if (string_field(find_condition(status, "DisruptionTarget"), "status") == "True") return true;
  return phase == api::PodPhase::kFailed && (is_platform_reason(string_field(status, "reason")) ||
                                             is_platform_reason(string_field(terminated, "reason")));
}

bool has_container_started(const json& container_status) {
  const json& state = child(container_status, "state");
  return child(state, "running").is_object() || child(state, "terminated").is_object() ||
         child(child(container_status, "lastState"), "terminated").is_object();
}

bool has_any_container_started(const json& status) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"})
    if (std::ranges::any_of(items_of(status, list), has_container_started)) return true;
  return false;
}

std::optional<WallTime> find_placed_at(const json& status) {
  const json& scheduled = find_condition(status, "PodScheduled");
  if (string_field(scheduled, "status") != "True") return std::nullopt;
  return parse_rfc3339(string_field(scheduled, "lastTransitionTime"));
}

std::optional<WallTime> pending_since(const json& document) {
  const json& status = child(document, "status");
  if (has_any_container_started(status)) return std::nullopt;
  const auto placed = find_placed_at(status);
  return placed ? placed : parse_rfc3339(string_field(child(document, "metadata"), "creationTimestamp"));
}

// Returns why kubelet refused a pod before any of its containers started, for example because of the node's
// devices, topology or pressure. If kubelet does not keep the status of containers, an evicted pod looks like
// a refused pod: only reason and message tell the difference.
std::string find_rejection(const json& status) {
  constexpr std::array<std::string_view, 7> kEndsOfWhatRan = {
      "DeadlineExceeded",       "Preempting", "Terminated", "Shutdown", "NodeLost",
      "ContainerStatusUnknown", "Error"};
  constexpr std::string_view kEvicted = "Evicted";
  constexpr std::string_view kUnderPressure = "The node had condition";
  const std::string reason = string_field(status, "reason");
  const std::string message = string_field(status, "message");
  const bool is_of_what_ran = std::ranges::find(kEndsOfWhatRan, reason) != kEndsOfWhatRan.end() ||
                              (reason == kEvicted && message.find(kUnderPressure) == std::string::npos);
  if (string_field(status, "phase") != "Failed" || reason.empty() || is_of_what_ran) return "";
  if (has_any_container_started(status)) return "";
  return cut_text(reason + (message.empty() ? "" : ": " + message), kReasonBytesMax);
}

std::vector<std::string> end_reasons(const json& status, const json& terminated) {
  const json& target = find_condition(status, "DisruptionTarget");
  std::vector<std::string> reasons;
  for (const std::string& reason :
       {string_field(target, "status") == "True" ? string_field(target, "reason") : std::string(),
        string_field(status, "reason"), string_field(terminated, "reason")}) {
    if (!reason.empty() && reason != "Error" && reason != "Completed")
      reasons.push_back(cut_text(reason, kReasonBytesMax));
  }
  return reasons;
}

// Returns kubelet's reason for the first container that it cannot start. Ignores containers that only wait
// for earlier containers or for their image.
std::string find_unstarted_reason(const json& status) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const auto& container : items_of(status, list)) {
      const json& waiting = child(child(container, "state"), "waiting");
      const std::string reason = string_field(waiting, "reason");
      if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") continue;
      const std::string message = string_field(waiting, "message");
      return cut_text(reason + (message.empty() ? "" : ": " + message), kReasonBytesMax);
    }
  }
  return "";
}

// Returns the pod's phase. The pod counts as ended when the trainer's container ends, because its other
// containers do not train. The phase "Unknown" means that the node is silent, not that the pod has ended.
api::PodPhase phase_of(const json& status, std::optional<int> trainer_exit_code, bool is_placed) {
  const std::string phase = string_field(status, "phase");
  if (phase == "Succeeded") return api::PodPhase::kSucceeded;
  // If the pod's status has a reason, Kubernetes itself ended the pod. Exit code 0 of the trainer is then no
  // success.
  if (trainer_exit_code)
    return *trainer_exit_code == 0 && string_field(status, "reason").empty() ? api::PodPhase::kSucceeded
                                                                             : api::PodPhase::kFailed;
  if (phase == "Failed") return api::PodPhase::kFailed;
  if (phase == "Running" || (phase == "Unknown" && is_placed)) return api::PodPhase::kRunning;
  return api::PodPhase::kPending;
}

std::optional<int> exit_code_of(const json& terminated) {
  const auto code = int_field(terminated, "exitCode");
  if (!code || *code < std::numeric_limits<int>::min() || *code > std::numeric_limits<int>::max())
    return std::nullopt;
  return static_cast<int>(*code);
}

// Keeps the last output of a failed container, which explains the failure.
void record_last_output(const json& terminated, api::Pod& pod) {
  pod.ended_at = parse_rfc3339(string_field(terminated, "finishedAt"));
  if (pod.exit_code.value_or(0) == 0 || pod.is_completed) return;
  pod.last_lines = tail_of_text(string_field(terminated, "message"), api::kLastLinesBytesMax);
}

// Reads the completion record, if the termination message is one. Ignores the record if the exit code is from
// 80 to 99, because the agent reports by these codes that the run is not at its end. With any other exit code
// the record counts, because the code may come from cleanup after the program wrote the record.
void read_completion_record(const std::string& message, api::Pod& pod) {
  constexpr int kOwnCodesFrom = 80;
  constexpr int kOwnCodesTo = 99;
  const int code = pod.exit_code.value_or(0);
  if (message.empty() || (code >= kOwnCodesFrom && code <= kOwnCodesTo)) return;
  auto record = decode<CompletionRecord>(message);
  if (!record) return;
  pod.is_completed = true;
  pod.last_checkpoint = std::move(record->checkpoint);
  pod.weights = std::move(record->weights);
  pod.finish_reason = std::move(record->finish_reason);
}

// Records the failure of an init container that is not the template's, such as that of a service mesh, as a
// pod that did not start.
void record_injected_failure(api::Pod& pod) {
  std::string failure = "its init container " + std::exchange(pod.failed_init_container, {}) +
                        ", which the job's template does not have, failed";
  if (pod.exit_code) failure += " with exit code " + std::to_string(*pod.exit_code);
  if (!pod.last_lines.empty()) failure += ": " + pod.last_lines;
  pod.kubelet_rejection = cut_text(failure, kReasonBytesMax);
  pod.exit_code.reset();
}

// Records how the program ended, or why it did not run.
void read_pod_end(const json& document, api::Pod& pod) {
  const json& status = child(document, "status");
  const std::string trainer = trainer_container_name(document);
  const json& own_end =
      terminated_state_of(find_container_status(items_of(status, "containerStatuses"), trainer));
  pod.exit_code = exit_code_of(own_end);
  pod.phase = phase_of(status, pod.exit_code, !pod.node.empty());
  pod.has_running_sidecars = pod.has_ended() && is_any_sidecar_running(status, trainer);
  const json& failed_init = own_end.is_object() ? null_json() : find_failed_init(document);
  pod.failed_init_container = string_field(failed_init, "name");
  if (!pod.failed_init_container.empty()) pod.exit_code = exit_code_of(terminated_state_of(failed_init));
  const json& terminated = pod.failed_init_container.empty() ? own_end : terminated_state_of(failed_init);
  if (pod.failed_init_container.empty()) read_completion_record(string_field(own_end, "message"), pod);
  record_last_output(terminated, pod);
  pod.is_evicted = is_evicted(status, terminated, pod.phase);
  pod.kubelet_rejection = find_rejection(status);
  if (!pod.is_evicted && !pod.failed_init_container.empty() &&
      !is_init_container_of_template(document, pod.failed_init_container))
    record_injected_failure(pod);
  pod.end_reasons = end_reasons(status, terminated);
}

// Returns the agent of the pod, which make_member_pod() gave volumes of its own.
api::PodAgent find_agent(const json& document) {
  bool has_token = false;
  for (const auto& volume : items_of(child(document, "spec"), "volumes")) {
    const std::string name = string_field(volume, "name");
    if (name == kLauncherVolume) return api::PodAgent::kLauncher;
    has_token = has_token || name == kTokenVolume;
  }
  return has_token ? api::PodAgent::kRatoon : api::PodAgent::kNone;
}

// Returns the owner reference to a TrainingJob: only pods that a TrainingJob owns are members.
const json& owning_job(const json& object) {
  for (const auto& owner : items_of(child(object, "metadata"), "ownerReferences"))
    if (bool_field(owner, "controller") && string_field(owner, "kind") == names::kKind &&
        string_field(owner, "apiVersion").starts_with(std::string(names::kApiGroup) + "/"))
      return owner;
  return null_json();
}

}  // namespace

std::string owning_job_uid(const json& object) {
  return string_field(owning_job(object), "uid");
}

std::string owning_job_name(const json& object) {
  return string_field(owning_job(object), "name");
}

std::string trainer_container_name(const json& pod) {
  std::string told = read_label(child(child(pod, "metadata"), "annotations"), kTrainerContainerAnnotation);
  if (!told.empty()) return told;
  const json& containers = items_of(child(pod, "spec"), "containers");
  return containers.empty() ? "" : string_field(containers.front(), "name");
}

Result<MemberPod> decode_pod(const json& document) {
  const json& meta = child(document, "metadata");
  const json& labels = child(meta, "labels");
  const json& status = child(document, "status");
  MemberPod out;
  out.name_space = string_field(meta, "namespace");
  out.resource_version = string_field(meta, "resourceVersion");
  const json& job = owning_job(document);
  out.job_name = string_field(job, "name");
  out.job_uid = string_field(job, "uid");

  api::Pod& pod = out.pod;
  pod.name = string_field(meta, "name");
  pod.uid = string_field(meta, "uid");
  pod.role = read_label(labels, names::label::kRole);
  const auto index = number_in_label(labels, names::label::kIndex);
  const auto incarnation = number_in_label(labels, names::label::kIncarnation);
  const bool is_member = !out.name_space.empty() && !pod.name.empty() && !pod.uid.empty() &&
                         !out.job_name.empty() && !out.job_uid.empty() && !pod.role.empty() && index &&
                         incarnation;
  if (!is_member) {
    return Error(ErrorKind::kInvalid, "pod " + out.name_space + "/" + pod.name +
                                          " does not name its member: its labels ratoon.dev/... and its "
                                          "owner must stay as the operator wrote them");
  }
  pod.index = *index;
  pod.incarnation = *incarnation;
  pod.node = string_field(child(document, "spec"), "nodeName");
  pod.placed_at = find_placed_at(status);
  pod.address = string_field(status, "podIP");
  pod.is_deleting = !string_field(meta, "deletionTimestamp").empty();
  pod.ends_at = parse_rfc3339(
      string_field(meta, "deletionTimestamp"));  // the end of the grace period, not its beginning
  read_pod_end(document, pod);
  if (pod.phase == api::PodPhase::kPending) {
    pod.unstarted_reason = find_unstarted_reason(status);
    pod.pending_since = pending_since(document);
  }
  pod.scheduler = string_field(child(document, "spec"), "schedulerName");
  const json& annotations = child(meta, "annotations");
  if (pod.node.empty()) pod.avoided_nodes = read_avoided_nodes(annotations);
  pod.rank0_pod_uid = read_label(annotations, kMasterPodAnnotation);
  pod.agent = find_agent(document);
  if (pod.node.empty() && string_field(find_condition(status, "PodScheduled"), "status") == "False")
    pod.unplaced_reason =
        cut_text(string_field(find_condition(status, "PodScheduled"), "message"), kReasonBytesMax);
  return out;
}

}  // namespace ratoon::kube
