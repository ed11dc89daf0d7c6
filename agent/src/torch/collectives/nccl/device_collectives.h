// Finds, for a kind of accelerator such as CUDA, the library that sums tensors on it. Each such library that
// is linked registers itself with register_device_collective().
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
  // A function that copies the bytes of rank 0 to all ranks, over the network of the hosts.
  std::function<void(std::span<std::uint8_t>)> broadcast_from_rank_0;
  // A function that is called each millisecond while this process waits for other ranks. `look` may throw to
  // end the wait.
  std::function<void()> look;
};

using MakeDeviceCollective = std::unique_ptr<Collective> (*)(const DeviceCollectivePlan&);

// Always returns true, so that the call can initialize a static variable.
bool register_device_collective(c10::DeviceType type, MakeDeviceCollective make);

// Returns null if no library that sums on `type` is linked.
[[nodiscard]] MakeDeviceCollective find_device_collective(c10::DeviceType type);

}  // namespace ratoon
