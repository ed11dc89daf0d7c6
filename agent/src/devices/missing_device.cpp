#include "agent/src/devices/missing_device.h"

#include <algorithm>
#include <charconv>

#include "base/core/split_join.h"

namespace ratoon::devices {
namespace {

constexpr std::string_view kDeviceFilePrefix = "nvidia";
constexpr std::string_view kMigPrefix = "MIG-";

std::optional<std::uint32_t> parse_device_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool names_mig_devices(const std::optional<std::string>& visible) {
  return visible && visible->find(kMigPrefix) != std::string::npos;
}

std::uint32_t count_listed_devices(const std::optional<std::string>& visible) {
  if (!visible || visible->empty() || visible->front() == '-') return 0;
  if (*visible == "void" || *visible == "none" || *visible == "all") return 0;
  return static_cast<std::uint32_t>(split(*visible, ',').size());
}

// CUDA ignores an entry of CUDA_VISIBLE_DEVICES that names no device, and all entries after it.
std::uint32_t count_cuda_visible(const std::string& cuda_visible_devices, std::uint32_t given) {
  std::uint32_t count = 0;
  for (const std::string& entry : split(cuda_visible_devices, ',')) {
    const auto number = parse_device_number(entry);
    const bool names_device =
        number ? *number < given : entry.starts_with("GPU-") || entry.starts_with(kMigPrefix);
    if (!names_device) break;
    ++count;
  }
  return count;
}

std::string describe_request(const DeviceRequest& request) {
  return "the program asks for \"" + request.name + "\" on local rank " + std::to_string(request.local_rank) +
         " of " + std::to_string(request.local_size);
}

}  // namespace

bool is_device_file(std::string_view name) {
  return name.starts_with(kDeviceFilePrefix) && parse_device_number(name.substr(kDeviceFilePrefix.size()));
}

std::uint32_t expected_device_count(const AssignedDevices& given) {
  std::uint32_t count = given.device_files;
  if (count == 0) count = given.driver_entries;
  if (count == 0) count = count_listed_devices(given.nvidia_visible_devices);
  if (given.cuda_visible_devices)
    count = std::min(count, count_cuda_visible(*given.cuda_visible_devices, count));
  const bool is_divided =
      names_mig_devices(given.nvidia_visible_devices) || names_mig_devices(given.cuda_visible_devices);
  return is_divided ? std::min(count, 1U) : count;
}

std::optional<MissingDeviceError> find_missing_device(const DeviceRequest& request,
                                                      const AssignedDevices& given) {
  if (request.is_supported && request.index < request.visible_devices) return std::nullopt;
  if (!request.is_supported) {
    return MissingDeviceError{
        .sentence = "the program asks for \"" + request.name +
                    "\", and the LibTorch that it links has no support for devices of the kind " +
                    request.kind + ": check the output of `ldd` for the program, or choose cpu"};
  }
  const std::uint32_t to_see = request.kind == "cuda" ? expected_device_count(given) : 0;
  if (request.visible_devices < to_see) {
    return MissingDeviceError{
        .exit_code = ExitCode::kDeviceUnusable,
        .sentence = describe_request(request) + ", and this process sees " +
                    std::to_string(request.visible_devices) + " devices of the " + std::to_string(to_see) +
                    " that this machine was given: a device or its driver failed. Training "
                    "continues on another machine; look "
                    "at nvidia-smi and the kernel log here"};
  }
  if (request.visible_devices == 0) {
    return MissingDeviceError{.sentence =
                                  "the program asks for \"" + request.name +
                                  "\", and no device of the kind " + request.kind +
                                  " was given to this process: ask for GPUs in the pod, look at "
                                  "CUDA_VISIBLE_DEVICES and whether the driver is installed, or choose cpu"};
  }
  return MissingDeviceError{.sentence = describe_request(request) + ", and this process sees " +
                                        std::to_string(request.visible_devices) + " devices of the kind " +
                                        request.kind +
                                        ": start no more processes on a machine than it has devices"};
}

}  // namespace ratoon::devices
