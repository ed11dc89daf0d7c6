// Decides what a process does after an error of a device or of a collective. The decision is made by a pure
// function, so that a test can check a table of cases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/contract/exit_code.h"

namespace ratoon::devices {

// The kind of failure: an error of a CUDA call, an error of an NCCL call, a lost peer process, or a failed
// allocation.
enum class FaultKind {
  kNone,      // no error: the world ended for another reason, or only the device's facts count
  kCuda,      // a call of the CUDA runtime, with its cudaError_t
  kNccl,      // a call of NCCL or the state of a communicator, with its ncclResult_t
  kPeerLost,  // a collective did not end because a peer left it
  kMemory,    // an allocator found no free memory on the device
};

struct DeviceFault {
  FaultKind kind = FaultKind::kNone;
  int code = 0;  // of kCuda and kNccl

  friend bool operator==(const DeviceFault&, const DeviceFault&) = default;
};

enum class FaultOrigin {
  kProgram,     // in the program's code, between calls of Ratoon
  kCollective,  // in a collective of Ratoon
  kStart,       // while Ratoon sets up device, communicators or buckets, before the first step
  kSave,        // while Ratoon copies the state to a checkpoint
};

// The result of aborting NCCL's communicators.
enum class NcclAbortResult { kNotNeeded, kDone, kOverdue };

// ProbeResult is the result of a small test kernel that ran after the device's other work was aborted.
enum class ProbeResult {
  kClean,
  kSticky,   // the test kernel failed, too
  kOverdue,  // the test kernel, or the work before it, did not end in time
};

// DeviceFacts are the facts about the device that were observed since the attempt began.
struct DeviceFacts {
  std::optional<std::uint64_t> fatal_xid{};
  // An event that is fatal in some cases (see XidSeverity::kUnclear). Alone, unclear_xid is no reason to
  // leave the machine.
  std::optional<std::uint64_t> unclear_xid{};
  bool has_uncorrectable_error = false;  // the driver's count of uncorrectable ECC errors grew
  bool has_row_remap_failed = false;     // a bad row of memory could not be replaced
  // True if a bad row of the device's memory will be replaced at the next reset of the device. Programs that
  // do not use the bad row still work, so a pending reset alone is no reason to leave the machine.
  bool is_row_remap_pending = false;
  // True if the machine has fewer devices than at the start of the attempt, or fewer devices than the
  // platform gave to the machine.
  bool is_device_missing = false;

  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

enum class FaultAction {
  kRestartInProcess,  // rejoin with this process
  kStartAgain,        // end; a new process on this machine: exit code 81, or 86 after an overdue abort
  kLeaveNode,         // end; a new process on another machine: exit code 85
  kProgramError,      // the program's own exception ends it: exit code 1
  kConfiguration,     // end; the same start would fail on every machine: exit code 82
};

struct FaultDecision {
  FaultAction action = FaultAction::kRestartInProcess;
  std::optional<int> exit_code{};  // none if the process continues
  // True if the device does not respond to this process, or if a thread is blocked in a call to the device.
  // If skips_destructors is true, the process must write its last log lines and end with _exit(), since a
  // destructor that calls the device would throw or block.
  bool skips_destructors = false;
  std::string sentence{};  // the explanation for people
};

// Observed facts about broken hardware take precedence over the error itself. Never returns
// ExitCode::kConfiguration, which ends a job permanently, for a failure that broken hardware can cause.
// kConfiguration is returned only at the start, if the program, the libraries and the driver do not fit each
// other and every device is present.
//
// If the device has no free memory, the result is kProgramError: the same step would need as much memory
// again. A restart in the same process would not help, because it does not defragment the device's memory.
// The job's maxRestarts limits how many new processes try the step again. At the start, the result is not
// kProgramError, because the previous process on this machine may not have released its memory yet.
[[nodiscard]] FaultDecision decide_after_fault(const DeviceFault& what, FaultOrigin where,
                                               NcclAbortResult abort, ProbeResult probe,
                                               const DeviceFacts& facts);

// Returns a text such as "CUDA error 700 (cudaErrorIllegalAddress) in a collective".
[[nodiscard]] std::string describe(const DeviceFault& what, FaultOrigin where);

}  // namespace ratoon::devices
