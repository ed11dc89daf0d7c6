#include "base/contract/exit_code.h"

namespace ratoon {

ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kNotFound:
    case ErrorKind::kAlreadyExists:
    case ErrorKind::kConflict:
      break;
    case ErrorKind::kCorrupted:
      return ExitCode::kCheckpointsBad;
    case ErrorKind::kPermissionDenied:
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled:
    case ErrorKind::kNoSpace:
    case ErrorKind::kIo:
      return ExitCode::kStorage;
  }
  return ExitCode::kConfiguration;
}

}  // namespace ratoon
