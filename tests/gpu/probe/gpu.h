// Requests of the stages to the accelerator and to this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <c10/core/Device.h>

namespace ratoon::gpu_probe {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

[[nodiscard]] c10::Device gpu();
void synchronize();
// Bytes of the device that no process uses.
[[nodiscard]] std::uint64_t free_device_bytes();
[[nodiscard]] std::size_t threads_of_this_process();
[[nodiscard]] std::size_t descriptors_of_this_process();
// Queues a kernel that only waits, on the stream that is current.
void queue_pause(double seconds);

}  // namespace ratoon::gpu_probe
