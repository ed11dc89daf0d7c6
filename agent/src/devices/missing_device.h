// Decides why a program does not get the device that it asks for: either a device of this machine is broken,
// or the program would get no such device on any machine. The functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/contract/exit_code.h"

namespace ratoon::devices {

// The devices that the platform gave this process, according to files in /dev and /proc and to environment
// variables.
struct AssignedDevices {
  std::uint32_t device_files = 0;    // /dev/nvidia0, /dev/nvidia1, ...
  std::uint32_t driver_entries = 0;  // entries of /proc/driver/nvidia/gpus
  // The next fields hold environment variables. If a variable is not set, its field has no value.
  std::optional<std::string> nvidia_visible_devices{};
  std::optional<std::string> cuda_visible_devices{};
};

struct DeviceRequest {
  std::string name{};         // as the program wrote it: "cuda", "cuda:1"
  std::string kind{};         // "cuda"
  bool is_supported = false;  // by the LibTorch that the program links
  std::uint32_t visible_devices = 0;
  std::uint32_t index = 0;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
};

struct MissingDeviceError {
  ExitCode exit_code = ExitCode::kConfiguration;
  std::string sentence{};
};

// Returns how many devices this process sees if all devices of the machine work; 0 if the platform gave it
// no device. A process sees only one part of one device if MIG divides the devices.
// NVIDIA_VISIBLE_DEVICES=all does not prove that there is a device, since container images set it even on
// machines without devices.
[[nodiscard]] std::uint32_t expected_device_count(const AssignedDevices& given);

// Returns nothing if the requested device is present.
[[nodiscard]] std::optional<MissingDeviceError> find_missing_device(const DeviceRequest& request,
                                                                    const AssignedDevices& given);

// Returns true if a file of this name in /dev is a device, such as "nvidia0". Returns false for other names,
// such as "nvidiactl".
[[nodiscard]] bool is_device_file(std::string_view name);

}  // namespace ratoon::devices
