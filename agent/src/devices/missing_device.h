// Explains why a program does not get a device: a device of this machine is broken, or the same start would
// fail on every machine. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/contract/exit_code.h"

namespace ratoon::devices {

// The devices that the platform gave this process, according to files and variables.
struct GivenDevices {
  std::uint32_t files = 0;      // /dev/nvidia0, /dev/nvidia1, ...
  std::uint32_t of_driver = 0;  // entries of /proc/driver/nvidia/gpus
  // The values of the environment variables; nothing if a variable is not set.
  std::optional<std::string> nvidia_visible_devices{};
  std::optional<std::string> cuda_visible_devices{};
};

struct DeviceRequest {
  std::string name{};         // as the program wrote it: "cuda", "cuda:1"
  std::string kind{};         // "cuda"
  bool is_supported = false;  // by the LibTorch that the program links
  std::uint32_t seen = 0;
  std::uint32_t index = 0;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
};

struct NoDevice {
  ExitCode exit_code = ExitCode::kConfiguration;
  std::string sentence{};
};

// Returns how many devices this process sees if the machine works; 0 if it was given no device. A process
// sees only one part of a divided device (MIG). NVIDIA_VISIBLE_DEVICES=all proves no device, since images set
// it even on machines without a device.
[[nodiscard]] std::uint32_t devices_to_see(const GivenDevices& given);

// Returns nothing if the device is present.
[[nodiscard]] std::optional<NoDevice> find_missing_device(const DeviceRequest& request,
                                                          const GivenDevices& given);

// Returns whether a file name in /dev is that of a device: true for "nvidia0", false for "nvidiactl".
[[nodiscard]] bool is_device_file(std::string_view name);

}  // namespace ratoon::devices
