// The GPUs that the processes of `ratoon launch` share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ratoon::cli {

// Returns the GPUs that this process may use: those in CUDA_VISIBLE_DEVICES (`listed`) or, if it is not set,
// the device files nvidia0, nvidia1 and so on. A container has the device files of its own GPUs only, while
// the driver's folder may list all GPUs of the machine; it counts if there is no device file. Returns an
// empty list if there is no GPU.
[[nodiscard]] std::vector<std::string> visible_devices(
    const std::optional<std::string>& listed, const std::filesystem::path& device_files = "/dev",
    const std::filesystem::path& driver_entries = "/proc/driver/nvidia/gpus");

}  // namespace ratoon::cli
