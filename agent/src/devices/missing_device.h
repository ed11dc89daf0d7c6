// Why a program that asks for a device does not get it: a device of this machine broke, or the same start
// would fail on every machine. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/contract/exit_code.h"

namespace ratoon::devices {

// What the platform gave this process, as files and variables say.
struct GivenDevices {
  std::uint32_t files = 0;      // /dev/nvidia0, /dev/nvidia1, ...
  std::uint32_t of_driver = 0;  // entries of /proc/driver/nvidia/gpus
  // Nothing where the variable is not set.
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

// How many devices a sound machine shows this process; 0 where no device was given. A process sees one part
// of a device that is divided (MIG), however many there are. NVIDIA_VISIBLE_DEVICES=all is no evidence:
// images bring it along, also to machines without a device.
[[nodiscard]] std::uint32_t devices_to_see(const GivenDevices& given);

// Nothing where the device is there.
[[nodiscard]] std::optional<NoDevice> find_missing_device(const DeviceRequest& request,
                                                          const GivenDevices& given);

// Whether the name of a file in /dev is that of a device: "nvidia0", and not "nvidiactl".
[[nodiscard]] bool is_device_file(std::string_view name);

}  // namespace ratoon::devices
