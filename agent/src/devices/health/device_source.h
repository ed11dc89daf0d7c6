// DeviceSource: a device as its driver reports it. Functions of a DeviceSource may block until the driver
// answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/src/devices/health/device_reading.h"
#include "base/core/clock.h"

namespace ratoon::devices {

class DeviceSource {
 public:
  DeviceSource() = default;
  virtual ~DeviceSource() = default;
  DeviceSource(const DeviceSource&) = delete;
  DeviceSource& operator=(const DeviceSource&) = delete;

  // Returns the device's UUID, such as "GPU-5e0f33c1-...", which nvidia-smi shows, too.
  [[nodiscard]] virtual std::string uuid() const = 0;
  [[nodiscard]] virtual DeviceReading read() = 0;
  // Returns whether the driver reports error events of this device to this process.
  [[nodiscard]] virtual bool reports_xids() const = 0;
  // Waits at most `at_most` for the next error event, and returns its number. Call wait_for_xid() only if
  // reports_xids() is true.
  [[nodiscard]] virtual std::optional<std::uint64_t> wait_for_xid(Duration at_most) = 0;
};

}  // namespace ratoon::devices
