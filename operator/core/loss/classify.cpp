#include "operator/core/loss/classify.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/contract/exit_code.h"
#include "base/core/utf8.h"
#include "operator/core/policy/restart_rules.h"

namespace ratoon::core {
namespace {

constexpr const char* kNoRecord =
    " without a completion record: its training did not reach its end; a program that does not call "
    "ratoon::train needs a TrainingJob with agent: None";
constexpr std::size_t kPlatformMessageBytesMax = 300;
constexpr int kSignalExitCodeBase = 128;
constexpr int kSigInt = 2;
constexpr int kSigKill = 9;
constexpr int kSigTerm = 15;

// Returns what an exit code of Ratoon's own programs means, or nothing for any other code.
std::optional<MemberEnd> find_exit_code_meaning(int code, const std::string& text) {
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::kDone:
      return MemberEnd{EndCause::kApplication, text + kNoRecord};
    case ExitCode::kPreempted:
      return MemberEnd{EndCause::kDisruption, text + " (left on request)"};
    case ExitCode::kStartAgain:
      return MemberEnd{EndCause::kDisruption, text + " (asks for a fresh start)"};
    case ExitCode::kConfiguration:
      return MemberEnd{EndCause::kFatal, text + " (configuration): the same start would fail again"};
    case ExitCode::kCheckpointsBad:
      return MemberEnd{EndCause::kFatal, text + ": checkpoints exist and none is good"};
    case ExitCode::kStorage:
      // If a disk or store fails, all members that use it end at the same time, and no start succeeds until
      // this disk or store works again.
      return MemberEnd{.cause = EndCause::kDisruption,
                       .explanation = text + " (storage failed)",
                       .is_storage_fault = true};
    case ExitCode::kDeviceUnusable:
      return MemberEnd{.cause = EndCause::kDisruption,
                       .explanation = text + " (its accelerator is unusable)",
                       .is_device_fault = true};
    case ExitCode::kAbortOverdue:
      return MemberEnd{EndCause::kDisruption, text + " (aborted collectives did not end)"};
    case ExitCode::kInterruptedByUser:
      break;  // 128 + SIGINT, below
  }
  return std::nullopt;
}

MemberEnd classify_exit_code(int code, bool is_ours) {
  const std::string text = "exit code " + std::to_string(code);
  if (const auto meaning = is_ours ? find_exit_code_meaning(code, text) : std::nullopt) return *meaning;
  const int signal = code - kSignalExitCodeBase;
  // Programs do not send SIGKILL, SIGTERM or SIGINT to themselves, so the cause is outside the program.
  if (signal == kSigKill || signal == kSigTerm || signal == kSigInt) {
    return {EndCause::kDisruption, "ended by signal " + std::to_string(signal)};
  }
  if (signal > 0) return {EndCause::kApplication, "crashed with signal " + std::to_string(signal)};
  return {EndCause::kApplication, text};
}

bool has_end_reason(const api::Pod& pod, std::string_view reason) {
  return std::ranges::find(pod.end_reasons, reason) != pod.end_reasons.end();
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

// Returns whether a container did not start because its program or command is wrong: then runc or crun names
// a file that it could not run. Failures of mounts, devices, hooks and cgroups are faults of the node.
bool is_command_fault(const std::string& message) {
  const std::string words = to_lower_case(message);
  if (contains_any(words, {"executable file", "exec format"})) return true;
  return contains_any(words, {"exec: ", "chdir", "open executable"}) &&
         contains_any(words, {"no such file", "permission denied", "is a directory"});
}

MemberEnd classify_unstarted(const api::Pod& pod) {
  MemberEnd ending{
      .cause = EndCause::kApplication,
      .explanation = "its container did not start: " + cut_text(pod.last_lines, kPlatformMessageBytesMax)};
  if (is_command_fault(pod.last_lines)) return ending;
  ending.cause = EndCause::kDisruption;
  ending.is_kubelet_rejection = true;
  ending.is_platform_caused = true;
  return ending;
}

MemberEnd classify_program(const api::Pod& pod) {
  constexpr std::string_view kOutOfMemory = "OOMKilled";
  constexpr std::string_view kStartError = "StartError";
  constexpr std::string_view kUnknown = "Unknown";
  constexpr int kUnknownCode = 255;
  // OOMKilled counts as a failure of the program, because its next start would need as much memory again.
  if (has_end_reason(pod, kOutOfMemory))
    return {EndCause::kApplication, "ended by signal 9: its memory limit was reached (OOMKilled)"};
  // No program ran, so `last_lines` has the container runtime's message instead of the program's output.
  if (has_end_reason(pod, kStartError)) return classify_unstarted(pod);
  if (has_end_reason(pod, kUnknown) && pod.exit_code == kUnknownCode)
    return {
        .cause = EndCause::kDisruption,
        .explanation = "its container runtime reports no cause (exit code 255, Unknown): its node was reset",
        .is_platform_caused = true};
  if (pod.exit_code) return classify_exit_code(*pod.exit_code, pod.failed_init_container.empty());
  return {EndCause::kDisruption, "ended without an exit code"};
}

MemberEnd classify_without_rules(const api::Pod& pod) {
  if (!pod.kubelet_rejection.empty())
    return {.cause = EndCause::kDisruption,
            .explanation =
                "its kubelet did not start it: " + cut_text(pod.kubelet_rejection, kPlatformMessageBytesMax),
            .is_kubelet_rejection = true,
            .is_platform_caused = true};
  if (pod.is_evicted)
    return {
        .cause = EndCause::kDisruption, .explanation = "ended by the platform", .is_platform_caused = true};
  MemberEnd ending = classify_program(pod);
  if (!pod.failed_init_container.empty())
    ending.explanation = "its init container " + pod.failed_init_container + " failed: " + ending.explanation;
  return ending;
}

EndCause cause_of_rule_action(api::RuleAction action) {
  switch (action) {
    case api::RuleAction::kRestart:
      return EndCause::kApplication;
    case api::RuleAction::kFail:
      return EndCause::kFatal;
    case api::RuleAction::kIgnore:
      break;
  }
  return EndCause::kDisruption;
}

std::string_view name_of(api::RuleAction action) {
  switch (action) {
    case api::RuleAction::kRestart:
      return "Restart";
    case api::RuleAction::kFail:
      return "Fail";
    case api::RuleAction::kIgnore:
      break;
  }
  return "Ignore";
}

}  // namespace

bool is_failure(const MemberEnd& ending) {
  return ending.cause == EndCause::kApplication || ending.cause == EndCause::kFatal;
}

MemberEnd classify(const api::Pod& pod, bool is_completed, const api::RestartPolicy& policy) {
  if (is_completed) return {EndCause::kCompleted, "completed"};
  if (pod.is_deleting)
    return {.cause = EndCause::kDisruption, .explanation = "deleted", .is_platform_caused = true};
  MemberEnd ending = classify_without_rules(pod);
  if (const auto rule = match_restart_rule(policy, pod)) {
    ending.cause = cause_of_rule_action(rule->action);
    ending.explanation +=
        " (rules[" + std::to_string(rule->number) + "]: " + std::string(name_of(rule->action)) + ")";
  }
  return ending;
}

}  // namespace ratoon::core
