#include "agent/src/devices/missing_device.h"

#include <algorithm>
#include <charconv>

#include "base/core/lists.h"

namespace ratoon::devices {
namespace {

constexpr std::string_view kFilePrefix = "nvidia";
constexpr std::string_view kPartPrefix = "MIG-";

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool names_parts(const std::optional<std::string>& visible) {
  return visible && visible->find(kPartPrefix) != std::string::npos;
}

std::uint32_t count_in(const std::optional<std::string>& visible) {
  if (!visible || visible->empty() || visible->front() == '-') return 0;
  if (*visible == "void" || *visible == "none" || *visible == "all") return 0;
  return static_cast<std::uint32_t>(split(*visible, ',').size());
}

// CUDA ignores an entry of CUDA_VISIBLE_DEVICES that names no device, and all entries after it.
std::uint32_t limit_of(const std::string& cuda_visible_devices, std::uint32_t given) {
  std::uint32_t count = 0;
  for (const std::string& entry : split(cuda_visible_devices, ',')) {
    const auto number = number_of(entry);
    const bool names_device =
        number ? *number < given : entry.starts_with("GPU-") || entry.starts_with(kPartPrefix);
    if (!names_device) break;
    ++count;
  }
  return count;
}

std::string what_is_asked(const DeviceRequest& request) {
  return "the program asks for \"" + request.name + "\" on local rank " + std::to_string(request.local_rank) +
         " of " + std::to_string(request.local_size);
}

}  // namespace

bool is_device_file(std::string_view name) {
  return name.starts_with(kFilePrefix) && number_of(name.substr(kFilePrefix.size()));
}

std::uint32_t devices_to_see(const GivenDevices& given) {
  std::uint32_t count = given.files;
  if (count == 0) count = given.of_driver;
  if (count == 0) count = count_in(given.nvidia_visible_devices);
  if (given.cuda_visible_devices) count = std::min(count, limit_of(*given.cuda_visible_devices, count));
  const bool is_divided =
      names_parts(given.nvidia_visible_devices) || names_parts(given.cuda_visible_devices);
  return is_divided ? std::min(count, 1U) : count;
}

std::optional<NoDevice> find_missing_device(const DeviceRequest& request, const GivenDevices& given) {
  if (request.is_supported && request.index < request.seen) return std::nullopt;
  if (!request.is_supported) {
    return NoDevice{.sentence = "the program asks for \"" + request.name +
                                "\", and the LibTorch that it links has no support for devices of the kind " +
                                request.kind + ": check the output of `ldd` for the program, or choose cpu"};
  }
  const std::uint32_t to_see = request.kind == "cuda" ? devices_to_see(given) : 0;
  if (request.seen < to_see) {
    return NoDevice{.exit_code = ExitCode::kDeviceUnusable,
                    .sentence = what_is_asked(request) + ", and this process sees " +
                                std::to_string(request.seen) + " devices of the " + std::to_string(to_see) +
                                " that this machine was given: a device or its driver failed. Training "
                                "continues on another machine; look "
                                "at nvidia-smi and the kernel log here"};
  }
  if (request.seen == 0) {
    return NoDevice{.sentence = "the program asks for \"" + request.name + "\", and no device of the kind " +
                                request.kind +
                                " was given to this process: ask for GPUs in the pod, look at "
                                "CUDA_VISIBLE_DEVICES and whether the driver is installed, or choose cpu"};
  }
  return NoDevice{.sentence = what_is_asked(request) + ", and this process sees " +
                              std::to_string(request.seen) + " devices of the kind " + request.kind +
                              ": start no more processes on a machine than it has devices"};
}

}  // namespace ratoon::devices
