#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <ratoon/torch/device.h>

#include "agent/src/devices/missing_device.h"
#include "agent/src/session/shutdown/fail.h"

namespace ratoon::torch {
namespace {

[[noreturn]] void refuse_device(const std::string& sentence) {
  session::fail(ExitCode::kConfiguration, sentence);
}

at::Device device_named(const std::string& name) {
  try {
    return at::Device(name);
  } catch (const c10::Error&) {
    refuse_device("\"" + name + "\" is not the name of a device: expected cpu, cuda or cuda:0");
  }
}

std::uint32_t count_of(at::DeviceType type) {
  if (!c10::impl::hasDeviceGuardImpl(type)) return 0;
  return static_cast<std::uint32_t>(c10::impl::VirtualGuardImpl(type).deviceCount());
}

// Counts the entries of a folder for which `counts` returns true. Returns 0 if the folder cannot be listed.
template <class Counts>
std::uint32_t count_in(const std::filesystem::path& folder, const Counts& counts) {
  std::error_code code;
  std::uint32_t count = 0;
  for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    if (counts(at->path().filename().string())) ++count;
  }
  return count;
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

devices::GivenDevices given_devices() {
  return {.files = count_in("/dev", devices::is_device_file),
          .of_driver = count_in("/proc/driver/nvidia/gpus", [](const std::string&) { return true; }),
          .nvidia_visible_devices = variable("NVIDIA_VISIBLE_DEVICES"),
          .cuda_visible_devices = variable("CUDA_VISIBLE_DEVICES")};
}

}  // namespace

at::Device device_for(const Session& session, const std::string& name) {
  const at::Device device = device_named(name);
  if (device.is_cpu()) return device;
  const std::uint32_t count = count_of(device.type());
  const auto given = given_devices();
  // If each process sees only its own device, that device has the number 0 for every local rank.
  const bool has_its_own = count == 1 && devices::devices_to_see(given) <= 1;
  const std::uint32_t index = device.has_index() ? static_cast<std::uint32_t>(device.index())
                              : has_its_own      ? 0
                                                 : session.local_rank();
  const auto missing =
      devices::find_missing_device({.name = name,
                                    .kind = c10::DeviceTypeName(device.type(), true),
                                    .is_supported = c10::impl::hasDeviceGuardImpl(device.type()),
                                    .seen = count,
                                    .index = index,
                                    .local_rank = session.local_rank(),
                                    .local_size = session.local_size()},
                                   given);
  if (missing) session::fail(missing->exit_code, missing->sentence);
  return {device.type(), static_cast<at::DeviceIndex>(index)};
}

}  // namespace ratoon::torch
