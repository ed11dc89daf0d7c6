#include "agent/src/devices/fault_decision.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "agent/src/devices/cuda_errors.h"
#include "agent/src/devices/suggested_action.h"
#include "agent/src/devices/xids.h"

namespace ratoon::devices {
namespace {

using enum FaultAction;

constexpr int kProgramErrorExitCode = 1;

// The names of the ncclResult_t values of NCCL 2.28, in the order of their numbers.
constexpr std::array<const char*, 8> kNcclResultNames = {
    "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
    "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};

std::string describe_report_of(std::uint64_t xid) {
  const std::string_view words = describe_xid(xid);
  return "the driver reported Xid " + std::to_string(xid) +
         (words.empty() ? "" : " (" + std::string(words) + ")");
}

// If the observed facts require that training continues on another machine, regardless of the error, returns
// the reason. Otherwise returns an empty text.
std::string hardware_evidence(const DeviceFacts& facts, bool may_be_hardware) {
  if (facts.fatal_xid) return describe_report_of(*facts.fatal_xid);
  if (facts.has_uncorrectable_error) return "the device's memory had an uncorrectable error";
  if (facts.has_row_remap_failed) return "a bad row of the device's memory could not be replaced";
  if (facts.is_device_missing) return "this machine has fewer devices than it had or was given";
  if (facts.is_row_remap_pending && may_be_hardware)
    return "a bad row of the device's memory waits for a reset of the device";
  if (facts.unclear_xid && may_be_hardware) return describe_report_of(*facts.unclear_xid);
  return {};
}

// If the device or a communicator hangs, or if the test kernel fails, this process cannot continue. In these
// cases, replaces a suggestion to continue in this process by a suggestion to start a new process.
SuggestedAction apply_probe_results(SuggestedAction opinion, NcclAbortResult abort, ProbeResult probe) {
  if (opinion.action != kRestartInProcess) return opinion;
  const char* why = nullptr;
  if (abort == NcclAbortResult::kOverdue)
    why = "the collectives that were aborted did not end in time";
  else if (probe == ProbeResult::kSticky)
    why = "a test kernel failed after the error: this process cannot use the device again";
  else if (probe == ProbeResult::kOverdue)
    why = "the device did not finish its work in time";
  if (why != nullptr) {
    opinion.action = kStartAgain;
    opinion.reason = std::string(why) + ". A fresh process continues";
  }
  return opinion;
}

std::optional<int> exit_code_for(FaultAction action, NcclAbortResult abort) {
  switch (action) {
    case kRestartInProcess:
      return std::nullopt;
    case kStartAgain:
      return static_cast<int>(abort == NcclAbortResult::kOverdue ? ExitCode::kAbortOverdue
                                                                 : ExitCode::kStartAgain);
    case kLeaveNode:
      return static_cast<int>(ExitCode::kDeviceUnusable);
    case kProgramError:
      break;
    case kConfiguration:
      return static_cast<int>(ExitCode::kConfiguration);
  }
  return kProgramErrorExitCode;
}

const char* describe_origin(FaultOrigin where) {
  switch (where) {
    case FaultOrigin::kProgram:
      return "in the program's own code";
    case FaultOrigin::kCollective:
      return "in a collective";
    case FaultOrigin::kStart:
      return "at the start";
    case FaultOrigin::kSave:
      break;
  }
  return "in a save";
}

std::string describe(const DeviceFault& what) {
  const std::string number = std::to_string(what.code);
  switch (what.kind) {
    case FaultKind::kNone:
      return "no error of the device";
    case FaultKind::kCuda:
      return "CUDA error " + number + " (" + std::string(name_of_cuda_error(what.code)) + ")";
    case FaultKind::kNccl: {
      const auto index = static_cast<std::size_t>(what.code);
      const bool is_known = what.code >= 0 && index < kNcclResultNames.size();
      return "NCCL result " + number + " (" + (is_known ? kNcclResultNames[index] : "unknown") + ")";
    }
    case FaultKind::kPeerLost:
      return "another process of the attempt was lost";
    case FaultKind::kMemory:
      break;
  }
  return "the device has no free memory";
}

}  // namespace

std::string describe(const DeviceFault& what, FaultOrigin where) {
  return describe(what) + " " + describe_origin(where);
}

FaultDecision decide_after_fault(const DeviceFault& what, FaultOrigin where, NcclAbortResult abort,
                                 ProbeResult probe, const DeviceFacts& facts) {
  SuggestedAction opinion = suggest_action(what, where, probe);
  // If the test kernel fails although all other work was aborted, a bad row of the device's memory or a link
  // may be the cause.
  const bool may_be_hardware = opinion.may_be_hardware || probe != ProbeResult::kClean;
  if (const std::string evidence = hardware_evidence(facts, may_be_hardware); !evidence.empty()) {
    opinion.action = kLeaveNode;
    opinion.reason = evidence + ". Training continues on another machine; have this device tested";
  } else {
    opinion = apply_probe_results(std::move(opinion), abort, probe);
  }
  return {
      .action = opinion.action,
      .exit_code = exit_code_for(opinion.action, abort),
      .skips_destructors =
          opinion.is_sticky || abort == NcclAbortResult::kOverdue || probe != ProbeResult::kClean,
      .sentence = (what.kind == FaultKind::kNone ? "" : describe(what, where) + ": ") + opinion.reason + "."};
}

}  // namespace ratoon::devices
