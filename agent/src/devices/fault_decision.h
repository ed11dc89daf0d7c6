// What to do after an error of a device or of a collective: a pure rule, so that each case is a row of a
// test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/contract/exit_code.h"

namespace ratoon::devices {

// What went wrong.
enum class FaultKind {
  kNone,      // nothing: a world that was given up for another reason, or only the facts about the device
  kCuda,      // a call of the CUDA runtime, with its cudaError_t
  kNccl,      // a call of NCCL, or what a communicator says, with its ncclResult_t
  kPeerLost,  // a collective did not end because a peer left it
  kMemory,    // an allocator found no room on the device
};

struct DeviceFault {
  FaultKind kind = FaultKind::kNone;
  int code = 0;  // of kCuda and kNccl

  friend bool operator==(const DeviceFault&, const DeviceFault&) = default;
};

enum class FaultPlace {
  kProgram,     // between our calls
  kCollective,  // in ours
  kStart,       // while we set up the device, communicators or buckets, before the first step
  kSave,        // while we copy the state to a checkpoint
};

// What became of the communicators.
enum class AbortResult { kNotNeeded, kDone, kOverdue };

// What a small kernel said, run after the abort and the end of all work on the device.
enum class ProbeResult {
  kClean,
  kSticky,   // an error again
  kOverdue,  // it did not end, or the work before it did not
};

// What is known of the device since the attempt began.
struct DeviceFacts {
  std::optional<std::uint64_t> fatal_xid{};
  bool has_uncorrectable_error = false;  // ECC; the volatile count grew
  bool has_remap_failed = false;         // a bad row of memory could not be replaced
  // A bad row of memory waits for a reset. Programs that do not use it go on, so that this is no reason to
  // leave by itself.
  bool is_remap_pending = false;
  // Fewer devices than the attempt began with, or than the platform gave this machine.
  bool is_device_missing = false;
  // A peer of this world ended before the error: kernels that read its memory fail then, without fault.
  bool has_lost_peer = false;

  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

enum class FaultAction {
  kRestartInProcess,  // join again with this process
  kStartAgain,        // a fresh process on this machine: 81, or 86 after an abort that is overdue
  kLeaveNode,         // a fresh process on another machine: 85
  kProgramError,      // the program's own exception goes on: 1
  kConfiguration,     // the same start would fail again on every machine: 82
};

struct FaultDecision {
  FaultAction action = FaultAction::kRestartInProcess;
  std::optional<int> exit_code{};  // none where the process goes on
  // The device does not answer this process any more, or a thread is stuck in it: end with _exit() once the
  // last words are written. A destructor that calls the device would throw or block.
  bool skips_destructors = false;
  std::string sentence{};  // for a person
};

// Facts about broken hardware win over what the error itself says. ExitCode::kConfiguration, which ends a job
// for good, is never given for what broken hardware can cause: only at the start, for a program, libraries
// and driver that do not fit, and with every device present.
//
// No room on the device is the program's error: the same step asks for as much again, a restart in process
// keeps the allocator's fragments, and maxRestarts bounds the fresh processes. At the start it is not: the
// former process of this machine may not have given its memory back yet.
[[nodiscard]] FaultDecision decide_after_fault(const DeviceFault& what, FaultPlace where, AbortResult abort,
                                               ProbeResult probe, const DeviceFacts& facts);

// "CUDA error 700 (cudaErrorIllegalAddress) in a collective".
[[nodiscard]] std::string describe(const DeviceFault& what, FaultPlace where);

}  // namespace ratoon::devices
