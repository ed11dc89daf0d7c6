// How often a program of the test accelerator did operations that cost time on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ratoon::test::accelerator {

// The sum over all threads and devices, since the start or reset_counts().
struct Counts {
  std::uint64_t host_synchronizations = 0;   // of streams, devices and events, blocking copies, item()
  std::uint64_t event_synchronizations = 0;  // those of them that waited for one event
  std::uint64_t allocations = 0;             // of device memory, those for results of operators included
  std::uint64_t host_copies = 0;             // between host and device, blocking or not
  std::uint64_t kernels = 0;                 // queued on streams, copies within devices included
  std::uint64_t fallbacks = 0;               // operators that drained the stream and ran on the CPU
  // Calls of an event whose device was not the current one. CUDA makes the device before current again, which
  // creates a context there.
  std::uint64_t event_calls_from_other_devices = 0;
};

[[nodiscard]] Counts counts();
void reset_counts();

// The operators behind Counts::fallbacks, each once, such as "aten::cumsum".
[[nodiscard]] std::vector<std::string> fallback_names();

// Functions for the parts of the accelerator.
void count_host_synchronization();
void count_event_synchronization();
void count_allocation();
void count_host_copy();
void count_kernel();
void count_event_call_from_other_device();
void count_fallback(const std::string& name);

}  // namespace ratoon::test::accelerator
