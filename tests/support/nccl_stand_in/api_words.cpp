// The functions of nccl.h that describe the library, and its errors.
#include <string>

#include "tests/support/nccl_stand_in/last_words.h"
#include "tests/support/nccl_stand_in/settings.h"

namespace stand_in = ratoon::test::nccl_stand_in;

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return stand_in::refuse(ncclInvalidArgument, "the place for the version is NULL");
  *version = static_cast<int>(stand_in::settings().now().version);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclNumResults:
      break;
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) {
  thread_local std::string words;  // the caller reads it until its thread's next call
  words = stand_in::last_words();
  return words.c_str();
}
