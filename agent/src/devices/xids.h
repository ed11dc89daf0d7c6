// Xid events: the NVIDIA driver's reports about a device, explained by NVIDIA's Xid catalogue.
#pragma once

#include <cstdint>
#include <string_view>

namespace ratoon::devices {

// Returns whether the device needs a reset, or its machine a restart or a repair: until then no process can
// use the device. Xid events that a program's own kernel can cause are not fatal.
[[nodiscard]] bool is_fatal_xid(std::uint64_t xid);

// Returns "the GPU has fallen off the bus", or an empty text if the event is unknown.
[[nodiscard]] std::string_view describe_xid(std::uint64_t xid);

}  // namespace ratoon::devices
