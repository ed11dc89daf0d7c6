#include "agent/src/devices/suggested_action.h"

#include "agent/src/devices/cuda_errors.h"

namespace ratoon::devices {
namespace {

using enum FaultAction;

// The values of NCCL's enumeration ncclResult_t, as in NCCL 2.28.
constexpr int kNcclSuccess = 0;
constexpr int kNcclUnhandledCudaError = 1;
constexpr int kNcclSystemError = 2;
constexpr int kNcclInternalError = 3;
constexpr int kNcclInvalidArgument = 4;
constexpr int kNcclInvalidUsage = 5;
constexpr int kNcclRemoteError = 6;
constexpr int kNcclInProgress = 7;

SuggestedAction suggest_for_full_memory(FaultOrigin where) {
  if (where == FaultOrigin::kStart) {
    return {kStartAgain,
            "the device has no free memory while Ratoon starts: an earlier process may not have released its "
            "memory yet. A fresh process tries again; if the error stays, look for other processes with "
            "nvidia-smi"};
  }
  return {kProgramError,
          "the device has too little free memory for the program. Use a smaller batch, or "
          "accumulate gradients"};
}

SuggestedAction suggest_for_kernel_fault() {
  return {
      .action = kProgramError,
      .reason =
          "a kernel of the program failed, and the driver reports no fault of the device. Run the program "
          "with compute-sanitizer, or with CUDA_LAUNCH_BLOCKING=1, to find the kernel",
      .may_be_hardware = true,
      .is_sticky = true};
}

SuggestedAction suggest_for_unclear_error() {
  return {.action = kStartAgain,
          .reason =
              "this process cannot use the device again, and the error does not say why. A fresh process can "
              "use the device",
          .may_be_hardware = true,
          .is_sticky = true};
}

SuggestedAction suggest_for_incompatibility(FaultOrigin where, const char* at_the_start) {
  if (where == FaultOrigin::kStart) return {kConfiguration, at_the_start};
  return {kProgramError, "the program asked for something that this device, driver or build does not have"};
}

SuggestedAction suggest_for_unavailable(FaultOrigin where, ProbeResult probe) {
  if (where == FaultOrigin::kProgram && probe == ProbeResult::kClean)
    return {kProgramError, "a call of the program was refused, and the device works"};
  return {.action = kLeaveNode,
          .reason =
              "the device or its driver cannot be used on this machine. Training continues on another "
              "machine; look at "
              "nvidia-smi and the kernel log here",
          .may_be_hardware = true};
}

SuggestedAction suggest_for_cuda_error(int code, FaultOrigin where, ProbeResult probe) {
  constexpr int kNoDevice = 100;
  switch (classify_cuda_error(code)) {
    case CudaErrorClass::kNone:
      return {kRestartInProcess, "the device reports no error"};
    case CudaErrorClass::kMistake:
      // A call with correct arguments can fail, too, if the device broke before the call.
      if (probe == ProbeResult::kSticky) return suggest_for_unclear_error();
      return {kProgramError, "the program made a wrong call, or gave wrong arguments; the device works"};
    case CudaErrorClass::kMemory:
      return suggest_for_full_memory(where);
    case CudaErrorClass::kKernelFault:
      return suggest_for_kernel_fault();
    case CudaErrorClass::kUnclear:
      return suggest_for_unclear_error();
    case CudaErrorClass::kHardware:
      return {
          .action = kLeaveNode,
          .reason =
              "the device or its link failed. Training continues on another machine; have this device tested",
          .may_be_hardware = true,
          .is_sticky = true};
    case CudaErrorClass::kUnavailable:
      return suggest_for_unavailable(where, probe);
    case CudaErrorClass::kServer:
      return {.action = kStartAgain,
              .reason =
                  "the server that shares the device (MPS) does not serve this process. A fresh process asks "
                  "MPS again; look at the log of MPS on this machine",
              .may_be_hardware = true,
              .is_sticky = true};
    case CudaErrorClass::kInstallation:
      return suggest_for_incompatibility(
          where,
          "this machine's driver and the program's libraries do not fit each other. Install a "
          "driver that is new enough, or build for this device");
    case CudaErrorClass::kInvalidDevice:
      break;
  }
  if (code == kNoDevice && where != FaultOrigin::kStart)
    return {.action = kLeaveNode,
            .reason = "all devices of this machine are gone. Training continues on another machine",
            .may_be_hardware = true,
            .is_sticky = true};
  return suggest_for_incompatibility(
      where,
      "the program uses a device that does not exist, and this machine has lost no device. "
      "Ask for GPUs in the pod or look at "
      "CUDA_VISIBLE_DEVICES, and start at most as many processes as there are devices");
}

SuggestedAction suggest_for_lost_peer() {
  return {kRestartInProcess, "another process left the attempt; this process and its device work"};
}

SuggestedAction suggest_for_nccl_error(int code, FaultOrigin where) {
  switch (code) {
    case kNcclInvalidArgument:
    case kNcclInvalidUsage:
      return {kProgramError,
              "NCCL refuses a call or its arguments; set NCCL_DEBUG=WARN to see the reason. A usual cause is "
              "that there are more processes than devices"};
    case kNcclRemoteError:
      return suggest_for_lost_peer();
    case kNcclInternalError:
      return {.action = kStartAgain,
              .reason = "NCCL had an internal error. A fresh process starts NCCL in a clean state"};
    case kNcclUnhandledCudaError:
    case kNcclSystemError:
      // If NCCL fails at the start, it may fail in the same way in each attempt. Start a new process instead
      // of a new attempt: the operator limits how many processes end without a step, but it does not limit
      // attempts.
      if (where == FaultOrigin::kStart)
        return {
            .action = kStartAgain,
            .reason =
                "NCCL could not set up its connections. A fresh process tries again; set NCCL_DEBUG=WARN, "
                "and look at NCCL_SOCKET_IFNAME and the network between the members",
            .may_be_hardware = true};
      return {kRestartInProcess, "NCCL lost a connection or a call; this process and its device work"};
    default:
      if (code == kNcclSuccess || code == kNcclInProgress)
        return {kRestartInProcess, "NCCL reports no error"};
      return {.action = kStartAgain,
              .reason = "NCCL gives a result that this version of Ratoon does not know"};
  }
}

}  // namespace

SuggestedAction suggest_action(const DeviceFault& what, FaultOrigin where, ProbeResult probe) {
  switch (what.kind) {
    case FaultKind::kNone:
      return {kRestartInProcess, "the device reports no error"};
    case FaultKind::kCuda:
      return suggest_for_cuda_error(what.code, where, probe);
    case FaultKind::kNccl:
      return suggest_for_nccl_error(what.code, where);
    case FaultKind::kPeerLost:
      return suggest_for_lost_peer();
    case FaultKind::kMemory:
      break;
  }
  return suggest_for_full_memory(where);
}

}  // namespace ratoon::devices
