#include "operator/local/run_exit.h"

#include "base/contract/exit_code.h"

namespace ratoon::local {

int exit_code_of(const api::TrainingJobStatus& status) {
  constexpr int kFailed = 1;
  if (status.phase == api::JobPhase::kSucceeded) return static_cast<int>(ExitCode::kDone);
  const auto& failure = status.last_failure;
  // Only a failure that ended the job counts. For example, a job may have survived its last failure and later
  // have reached its time limit.
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
