// Xid events are the error events that NVIDIA's driver reports about a device. NVIDIA's Xid catalogue
// explains Xid events.
#pragma once

#include <cstdint>
#include <string_view>

namespace ratoon::devices {

// Returns true if the event is fatal: no process can use the device until it is reset, or its machine is
// restarted or repaired. An Xid event that a program's own kernel can cause is not fatal.
[[nodiscard]] bool is_fatal_xid(std::uint64_t xid);

// Returns a description such as "the GPU has fallen off the bus", or an empty text if the event is unknown.
[[nodiscard]] std::string_view describe_xid(std::uint64_t xid);

}  // namespace ratoon::devices
