#include "operator/core/classify.h"

#include "base/contract/exit_code.h"

namespace ratoon::core {
namespace {

constexpr int kSignalBase = 128;
constexpr int kSigInt = 2;
constexpr int kSigKill = 9;
constexpr int kSigTerm = 15;

Ending classify_exit_code(int code) {
  const std::string text = "exit code " + std::to_string(code);
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::kDone:
      return {EndCause::kApplication, text + " without a completion record"};
    case ExitCode::kPreempted:
      return {EndCause::kDisruption, text + " (left because it was told to)"};
    case ExitCode::kStartAgain:
      return {EndCause::kDisruption, text + " (asks for a fresh start)"};
    case ExitCode::kConfiguration:
      return {EndCause::kFatal,
              text + " (configuration): the same start would fail again; see the member's log"};
    case ExitCode::kCheckpointsBad:
      return {EndCause::kFatal, text + ": checkpoints exist and none is good; see the member's log"};
    case ExitCode::kStorage:
      return {EndCause::kApplication, text + " (storage failed)"};
    case ExitCode::kInterruptedByUser:
      break;  // 128 + SIGINT, below
  }
  const int signal = code - kSignalBase;
  // Programs do not kill themselves with these; somebody outside did.
  if (signal == kSigKill || signal == kSigTerm || signal == kSigInt) {
    return {EndCause::kDisruption, "ended by signal " + std::to_string(signal)};
  }
  if (signal > 0) return {EndCause::kApplication, "crashed with signal " + std::to_string(signal)};
  return {EndCause::kApplication, text};
}

}  // namespace

Ending classify(const api::Pod& pod, bool is_completed) {
  if (is_completed) return {EndCause::kCompleted, "completed"};
  if (pod.is_deleting) return {EndCause::kDisruption, "deleted"};
  if (pod.is_evicted) return {EndCause::kDisruption, "ended by the platform"};
  if (pod.exit_code) return classify_exit_code(*pod.exit_code);
  return {EndCause::kDisruption, "ended without an exit code"};
}

}  // namespace ratoon::core
