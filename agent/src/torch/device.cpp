#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <ratoon/torch/device.h>

#include "agent/src/devices/fault_decision.h"
#include "agent/src/devices/health/watched_devices.h"
#include "agent/src/devices/missing_device.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/telemetry/say.h"

namespace ratoon::torch {
namespace {

[[noreturn]] void refuse_device(const std::string& sentence) {
  session::fail(ExitCode::kConfiguration, sentence);
}

at::Device parse_device(const std::string& name) {
  try {
    return at::Device(name);
  } catch (const c10::Error&) {
    refuse_device("\"" + name + "\" is not the name of a device: expected cpu, cuda or cuda:0");
  }
}

std::uint32_t count_visible_devices(at::DeviceType type) {
  if (!c10::impl::hasDeviceGuardImpl(type)) return 0;
  return static_cast<std::uint32_t>(c10::impl::VirtualGuardImpl(type).deviceCount());
}

// Counts the entries of a folder for which `counts` returns true. Returns 0 if the folder cannot be listed.
template <class Counts>
std::uint32_t count_entries(const std::filesystem::path& folder, const Counts& counts) {
  std::error_code code;
  std::uint32_t count = 0;
  for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    if (counts(at->path().filename().string())) ++count;
  }
  return count;
}

std::optional<std::string> read_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

devices::AssignedDevices given_devices() {
  return {
      .device_files = count_entries("/dev", devices::is_device_file),
      .driver_entries = count_entries("/proc/driver/nvidia/gpus", [](const std::string&) { return true; }),
      .nvidia_visible_devices = read_variable("NVIDIA_VISIBLE_DEVICES"),
      .cuda_visible_devices = read_variable("CUDA_VISIBLE_DEVICES")};
}

// Watches the device's health if the CUDA runtime, which LibTorch has loaded, knows its PCI address.
void watch_health(std::uint32_t index) {
  using FindBusId = int (*)(char* id, int size, int device);
  const auto find_bus_id = reinterpret_cast<FindBusId>(::dlsym(RTLD_DEFAULT, "cudaDeviceGetPCIBusId"));
  std::array<char, 32> id{};
  if (find_bus_id == nullptr ||
      find_bus_id(id.data(), static_cast<int>(id.size() - 1), static_cast<int>(index)) != 0)
    return;
  devices::watch_device(id.data(), session::say);
}

// A process on a broken device would fail in the middle of a step, or compute wrong numbers.
void refuse_broken_device() {
  const auto decision = devices::decide_after_fault(
      {}, devices::FaultOrigin::kStart, devices::NcclAbortResult::kNotNeeded, devices::ProbeResult::kClean,
      devices::read_device_facts(devices::kDriverTimeout));
  if (decision.action == devices::FaultAction::kLeaveNode)
    session::fail(ExitCode::kDeviceUnusable, decision.sentence);
}

}  // namespace

at::Device device_for(const Session& session, const std::string& name) {
  const at::Device device = parse_device(name);
  if (device.is_cpu()) return device;
  const std::uint32_t count = count_visible_devices(device.type());
  const auto given = given_devices();
  // If each process sees only its own device, that device has the number 0 for every local rank.
  const bool has_its_own = count == 1 && devices::expected_device_count(given) <= 1;
  const std::uint32_t index = device.has_index() ? static_cast<std::uint32_t>(device.index())
                              : has_its_own      ? 0
                                                 : session.local_rank();
  const auto missing =
      devices::find_missing_device({.name = name,
                                    .kind = c10::DeviceTypeName(device.type(), true),
                                    .is_supported = c10::impl::hasDeviceGuardImpl(device.type()),
                                    .visible_devices = count,
                                    .index = index,
                                    .local_rank = session.local_rank(),
                                    .local_size = session.local_size()},
                                   given);
  if (missing) session::fail(missing->exit_code, missing->sentence);
  watch_health(index);
  refuse_broken_device();
  const at::Device own(device.type(), static_cast<at::DeviceIndex>(index));
  // If another device were current, events of LibTorch would create a context on that device, too.
  c10::impl::VirtualGuardImpl(own.type()).setDevice(own);
  return own;
}

}  // namespace ratoon::torch
