// Xid events are the error events that NVIDIA's driver reports about a device. NVIDIA's Xid catalogue
// explains Xid events.
#pragma once

#include <cstdint>
#include <string_view>

namespace ratoon::devices {

enum class XidSeverity {
  // The device works. An event that a program's own kernel can cause is harmless, too: the error that the
  // program receives says more.
  kHarmless,
  // Some errors with this number are fatal and others are harmless. Only a part of the message in the kernel
  // log, which NVML does not return, says which error occurred.
  kUnclear,
  kFatal,  // no process can use the device until it is reset, or its machine is restarted or repaired
};

// Returns kHarmless if the event is unknown.
[[nodiscard]] XidSeverity severity_of_xid(std::uint64_t xid);

// Returns a description such as "the GPU has fallen off the bus", or an empty text if the event is unknown.
[[nodiscard]] std::string_view describe_xid(std::uint64_t xid);

}  // namespace ratoon::devices
