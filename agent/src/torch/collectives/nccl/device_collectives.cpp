#include "agent/src/torch/collectives/nccl/device_collectives.h"

#include <map>

#include "base/core/never_destroyed.h"

namespace ratoon {
namespace {

// Static initializers of the linked libraries fill this map before main() begins.
std::map<c10::DeviceType, MakeDeviceCollective>& makers() {
  static const NeverDestroyed<std::map<c10::DeviceType, MakeDeviceCollective>> all;
  return *all;
}

}  // namespace

bool register_device_collective(c10::DeviceType type, MakeDeviceCollective make) {
  makers()[type] = make;
  return true;
}

MakeDeviceCollective find_device_collective(c10::DeviceType type) {
  const auto found = makers().find(type);
  return found == makers().end() ? nullptr : found->second;
}

}  // namespace ratoon
