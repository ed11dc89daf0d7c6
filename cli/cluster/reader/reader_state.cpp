#include "cli/cluster/reader/reader_state.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/core/never_destroyed.h"
#include "cli/cluster/reader/reader_container.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

const json& reader_status(const json& status) {
  static const NeverDestroyed<json> kNothing;
  for (const json& one : kube::items_of(status, "containerStatuses"))
    if (kube::string_field(one, "name") == kReaderContainer) return one;
  return *kNothing;
}

const json& scheduling_condition_of(const json& status) {
  static const NeverDestroyed<json> kNothing;
  for (const json& one : kube::items_of(status, "conditions"))
    if (kube::string_field(one, "type") == "PodScheduled") return one;
  return *kNothing;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Returns ": <message>", or an empty text if there is no message.
std::string text_after_colon(const std::string& message) {
  return message.empty() ? "" : ": " + message;
}

std::string image_of(const json& pod) {
  const json& containers = kube::items_of(kube::child(pod, "spec"), "containers");
  return containers.empty() ? "" : kube::string_field(containers.front(), "image");
}

ReaderState waiting_state(const json& pod, const json& waiting, const std::string& node) {
  const std::string reason = kube::string_field(waiting, "reason");
  const std::string message = text_after_colon(kube::string_field(waiting, "message"));
  const std::string image = "node " + node + " cannot pull the image " + image_of(pod) + message;
  if (reason == "ErrImagePull") return {ReaderPhase::kWaiting, image};
  if (is_one_of(reason, {"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}))
    return {ReaderPhase::kCannotRun,
            image +
                "; name another image that has the command `ratoon` with --image, or add a pull secret to "
                "imagePullSecrets in the job's template"};
  if (is_one_of(reason, {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}))
    return {ReaderPhase::kCannotRun, "node " + node + " cannot start the container" + message};
  return {ReaderPhase::kWaiting, "node " + node + " prepares the volumes and the image of the pod"};
}

ReaderState ended_state(const json& pod, const json& ended) {
  const bool is_without_command =
      is_one_of(kube::string_field(ended, "reason"), {"StartError", "ContainerCannotRun"});
  if (!is_without_command) return {ReaderPhase::kStarted, ""};
  return {ReaderPhase::kCannotRun, "the image " + image_of(pod) + " cannot run the command `ratoon`" +
                                       text_after_colon(kube::string_field(ended, "message")) +
                                       "; upgrade the operator, or name another image with --image"};
}

}  // namespace

ReaderState reader_state(const json& pod) {
  const json& status = kube::child(pod, "status");
  const json& state = kube::child(reader_status(status), "state");
  const std::string node = kube::string_field(kube::child(pod, "spec"), "nodeName");
  if (const json& ended = kube::child(state, "terminated"); ended.is_object()) return ended_state(pod, ended);
  if (kube::child(state, "running").is_object()) return {ReaderPhase::kStarted, ""};
  if (kube::string_field(status, "phase") == "Failed")
    return {ReaderPhase::kCannotRun, "the pod failed on node " + node +
                                         " before it started: " + kube::string_field(status, "reason") +
                                         text_after_colon(kube::string_field(status, "message"))};
  if (kube::child(pod, "metadata").contains("deletionTimestamp"))
    return {ReaderPhase::kCannotRun, "another client deletes the pod"};
  if (const json& waiting = kube::child(state, "waiting"); waiting.is_object() && !node.empty())
    return waiting_state(pod, waiting, node);
  const json& scheduling = scheduling_condition_of(status);
  if (kube::string_field(scheduling, "status") == "False")
    return {ReaderPhase::kWaiting,
            "no node takes the pod" + text_after_colon(kube::string_field(scheduling, "message"))};
  if (node.empty()) return {ReaderPhase::kWaiting, "the scheduler has not placed the pod yet"};
  return {ReaderPhase::kWaiting, "node " + node + " has not started the pod yet"};
}

std::string explain_wait(const ReaderState& state, const std::vector<json>& events) {
  const json* newest = nullptr;
  const auto time_of = [](const json& event) {
    const std::string last = kube::string_field(event, "lastTimestamp");
    return last.empty() ? kube::string_field(event, "eventTime") : last;
  };
  for (const json& event : events) {
    const bool is_about_scheduling = kube::string_field(event, "reason") == "FailedScheduling";
    if (kube::string_field(event, "type") != "Warning" || is_about_scheduling) continue;
    if (newest == nullptr || time_of(event) >= time_of(*newest)) newest = &event;
  }
  std::string sentence = state.why;
  if (newest != nullptr)
    sentence += "; " + kube::string_field(*newest, "reason") +
                text_after_colon(kube::string_field(*newest, "message"));
  const bool is_in_use = sentence.find("Multi-Attach") != std::string::npos ||
                         sentence.find("ReadWriteOncePod") != std::string::npos;
  if (is_in_use)
    sentence +=
        "; another pod uses the volume, and the volume's access mode allows only one node or one pod at a "
        "time: repeat the command "
        "when the job's pods have ended, for example after `kubectl ratoon suspend`";
  return sentence;
}

std::string explain_early_end(const json& pod) {
  const json& status = kube::child(pod, "status");
  const json& ended = kube::child(kube::child(reader_status(status), "state"), "terminated");
  const std::string reason = kube::string_field(ended, "reason");
  const std::string of_pod = kube::string_field(status, "reason");
  if (of_pod == "DeadlineExceeded") return "it did not end within its time limit (activeDeadlineSeconds)";
  if (reason == "OOMKilled") return "its memory limit of 1 GiB was reached";
  if (!of_pod.empty()) return of_pod + text_after_colon(kube::string_field(status, "message"));
  if (const auto code = kube::int_field(ended, "exitCode"))
    return "it ended with exit code " + std::to_string(*code) + (reason.empty() ? "" : " (" + reason + ")");
  return "its log ended, and the pod's status does not say why";
}

}  // namespace ratoon::cli
