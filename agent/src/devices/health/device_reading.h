// agent/src/devices/health/: watches devices through their driver's monitoring library, NVML. DeviceReading
// contains the values that the driver reports about a device at one moment. A field has no value if the
// device, its driver or the container does not report the value.
#pragma once

#include <cstdint>
#include <optional>

namespace ratoon::devices {

// The causes for which a device lowers its clock frequency.
struct ClockSlowdown {
  bool is_by_power_limit = false;
  bool is_by_temperature = false;
  bool is_by_power_supply = false;     // an external signal of the machine
  bool is_by_hardware_signal = false;  // any cause that the hardware detected

  friend bool operator==(const ClockSlowdown&, const ClockSlowdown&) = default;
};

struct DeviceReading {
  std::optional<double> temperature_celsius{};
  std::optional<double> power_watts{};
  std::optional<double> clock_hertz{};  // of the processors
  std::optional<double> utilization{};  // 0 to 1: the part of the last second in which a kernel ran
  std::optional<std::uint64_t> memory_bytes{};
  std::optional<std::uint64_t> memory_used_bytes{};
  // The next two fields are the numbers of errors of the device's memory (ECC) since the driver was loaded.
  std::optional<std::uint64_t> corrected_errors{};
  std::optional<std::uint64_t> uncorrectable_errors{};
  std::optional<bool> is_row_remap_pending{};  // a bad row of the memory will be replaced at the next reset
  std::optional<bool> has_row_remap_failed{};  // a bad row of the memory could not be replaced
  std::optional<ClockSlowdown> slowdown{};
  bool is_lost = false;  // the driver no longer reaches the device

  friend bool operator==(const DeviceReading&, const DeviceReading&) = default;
};

}  // namespace ratoon::devices
