// Decides which action an error of a device suggests, before other facts about the device are considered.
#pragma once

#include <string>

#include "agent/src/devices/fault_decision.h"

namespace ratoon::devices {

// The action that an error suggests if nothing else is known, and the reason for it. Ratoon takes the
// suggested action if the device responds and no observed fact requires another action.
struct SuggestedAction {
  FaultAction action;
  std::string reason;
  bool may_be_hardware = false;  // a memory row that waits for a reset may be the cause
  bool is_sticky = false;
};

[[nodiscard]] SuggestedAction suggest_action(const DeviceFault& what, FaultOrigin where, ProbeResult probe);

}  // namespace ratoon::devices
