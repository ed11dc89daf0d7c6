// Lists the devices that this process uses, each with its DeviceWatch. A DeviceWatch lasts until the process
// ends.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "agent/src/devices/fault_decision.h"
#include "agent/src/devices/health/device_record.h"
#include "base/core/clock.h"

namespace ratoon::devices {

// The time for which a process waits for a driver that may no longer answer.
inline constexpr Duration kDriverTimeout = std::chrono::seconds(2);

struct WatchedDevice {
  std::string uuid;
  DeviceRecord record;
};

// Begins to watch the device at this address on the PCI bus. Does nothing if the device is watched already,
// or if this machine has no NVML. Other threads call `tell` with messages for the user.
void watch_device(const std::string& bus_id, const std::function<void(const std::string&)>& tell);

[[nodiscard]] std::vector<WatchedDevice> watched_devices();

// Reads the watched devices again, and returns the joined facts about them. Waits at most `within` for a
// driver that does not answer.
[[nodiscard]] DeviceFacts read_device_facts(Duration within);

}  // namespace ratoon::devices
