// Reads devices through NVML, the monitoring library of NVIDIA's driver. NVML is loaded when it is first
// needed, since machines without NVIDIA's driver do not have it.
#pragma once

#include <memory>
#include <string>

#include <ratoon/result.h>

#include "agent/src/devices/health/device_source.h"

namespace ratoon::devices {

inline constexpr const char* kNvmlFile = "libnvidia-ml.so.1";

// Opens the device at this address on the PCI bus, such as "0000:01:00.0". Returns kNotFound if this
// machine has no NVML library, and kUnavailable, with NVML's error text, if NVML does not give access to
// the device.
[[nodiscard]] Result<std::unique_ptr<DeviceSource>> open_nvml_device(const std::string& library,
                                                                     const std::string& bus_id);

}  // namespace ratoon::devices
