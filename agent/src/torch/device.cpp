#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <ratoon/torch/device.h>

#include "agent/src/session/fail.h"

namespace ratoon::torch {
namespace {

[[noreturn]] void refuse_device(const std::string& sentence) {
  session::fail(ExitCode::kConfiguration, sentence);
}

at::Device device_named(const std::string& name) {
  try {
    return at::Device(name);
  } catch (const c10::Error&) {
    refuse_device("\"" + name + "\" names no device: say cpu, cuda or cuda:0");
  }
}

std::uint32_t count_of(at::DeviceType type) {
  if (!c10::impl::hasDeviceGuardImpl(type)) return 0;
  return static_cast<std::uint32_t>(c10::impl::VirtualGuardImpl(type).deviceCount());
}

}  // namespace

at::Device device_for(const Session& session, const std::string& name) {
  const at::Device device = device_named(name);
  if (device.is_cpu()) return device;
  const std::string kind = c10::DeviceTypeName(device.type(), true);
  const std::uint32_t count = count_of(device.type());
  if (count == 0) {
    refuse_device(
        "the program asks for \"" + name + "\", and no device of the kind " + kind +
        " is here, or the LibTorch that the program links has no support for it: look at the driver and at "
        "what `ldd` says of the program, or say cpu");
  }
  const std::uint32_t index = device.has_index() ? static_cast<std::uint32_t>(device.index())
                              : count == 1       ? 0
                                                 : session.local_rank();
  if (index >= count) {
    refuse_device("the program asks for \"" + name + "\" on local rank " +
                  std::to_string(session.local_rank()) + " of " + std::to_string(session.local_size()) +
                  ", and this process sees " + std::to_string(count) + " of the kind " + kind +
                  ": start no more processes on a machine than it has devices");
  }
  return {device.type(), static_cast<at::DeviceIndex>(index)};
}

}  // namespace ratoon::torch
