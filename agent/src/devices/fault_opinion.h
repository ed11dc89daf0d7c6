// Decides which action an error suggests, before other facts are known.
#pragma once

#include <string>

#include "agent/src/devices/fault_decision.h"

namespace ratoon::devices {

// The action that an error suggests without other facts, and the reason. Ratoon takes the action if the
// device responds and no other fact contradicts the action.
struct FaultOpinion {
  FaultAction action;
  std::string why;
  bool may_be_hardware = false;  // a memory row that waits for a reset may be the cause
  bool is_sticky = false;
};

[[nodiscard]] FaultOpinion opinion_on(const DeviceFault& what, FaultOrigin where, ProbeResult probe,
                                      bool has_lost_peer);

}  // namespace ratoon::devices
