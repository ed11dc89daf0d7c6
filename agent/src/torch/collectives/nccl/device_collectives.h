// Maps accelerator kinds to the libraries that sum on them. Each linked library registers itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <c10/core/Device.h>

#include "agent/src/torch/collectives/collective.h"

namespace ratoon {

struct DeviceCollectivePlan {
  c10::Device device;
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  // Copies rank 0's bytes to all ranks, over the host.
  std::function<void(std::span<std::uint8_t>)> broadcast_from_first;
  // Called each millisecond while this process waits for other ranks; it may throw.
  std::function<void()> look;
};

using MakeDeviceCollective = std::unique_ptr<Collective> (*)(const DeviceCollectivePlan&);

// Always returns true, so that a static variable can be initialized with it.
bool register_device_collective(c10::DeviceType type, MakeDeviceCollective make);

// Returns null if no library that sums on `type` is linked.
[[nodiscard]] MakeDeviceCollective find_device_collective(c10::DeviceType type);

}  // namespace ratoon
