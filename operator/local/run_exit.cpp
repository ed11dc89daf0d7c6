#include "operator/local/run_exit.h"

#include "base/contract/exit_code.h"

namespace ratoon::local {

int exit_code_of(const api::TrainingJobStatus& status) {
  constexpr int kFailed = 1;
  if (status.phase == api::JobPhase::kSucceeded) return static_cast<int>(ExitCode::kDone);
  const auto& failure = status.last_failure;
  // A failure that the job survived does not explain its end: for example, the job's time may have ended long
  // after that failure.
  if (!failure || !failure->exit_code || failure->reason.empty() ||
      status.message.find(failure->reason) == std::string::npos)
    return kFailed;
  switch (const auto code = static_cast<ExitCode>(*failure->exit_code)) {
    case ExitCode::kConfiguration:
    case ExitCode::kCheckpointsBad:
    case ExitCode::kStorage:
      return static_cast<int>(code);
    case ExitCode::kDone:
    case ExitCode::kPreempted:
    case ExitCode::kStartAgain:
    case ExitCode::kDeviceUnusable:
    case ExitCode::kAbortOverdue:
    case ExitCode::kInterruptedByUser:
      break;
  }
  return kFailed;
}

}  // namespace ratoon::local
