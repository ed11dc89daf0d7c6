// What an error by itself asks for, before anything else is known.
#pragma once

#include <string>

#include "agent/src/devices/fault_decision.h"

namespace ratoon::devices {

// What the error alone asks for, with a device that answers and no fact against it; and why.
struct FaultOpinion {
  FaultAction action;
  std::string why;
  bool may_be_hardware = false;  // a memory row that waits for its reset makes it the device's fault
  bool is_sticky = false;
};

[[nodiscard]] FaultOpinion opinion_on(const DeviceFault& what, FaultPlace where, ProbeResult probe,
                                      bool has_lost_peer);

}  // namespace ratoon::devices
