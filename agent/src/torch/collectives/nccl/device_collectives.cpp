#include "agent/src/torch/collectives/nccl/device_collectives.h"

#include <map>

#include "base/core/never_destroyed.h"

namespace ratoon {
namespace {

// Static initializers of the linked libraries fill the map of registered_makers() before main() begins.
std::map<c10::DeviceType, MakeDeviceCollective>& registered_makers() {
  static const NeverDestroyed<std::map<c10::DeviceType, MakeDeviceCollective>> all;
  return *all;
}

}  // namespace

bool register_device_collective(c10::DeviceType type, MakeDeviceCollective make) {
  registered_makers()[type] = make;
  return true;
}

MakeDeviceCollective find_device_collective(c10::DeviceType type) {
  const auto found = registered_makers().find(type);
  return found == registered_makers().end() ? nullptr : found->second;
}

}  // namespace ratoon
