// Xid events: what the NVIDIA driver reports about a device, as NVIDIA's Xid catalogue explains them.
#pragma once

#include <cstdint>
#include <string_view>

namespace ratoon::devices {

// Whether the device needs a reset, its machine a restart or a technician: nothing that this process or the
// next one on the same machine can do. Events that a program's own kernel can cause are none of these.
[[nodiscard]] bool is_fatal_xid(std::uint64_t xid);

// "the GPU has fallen off the bus"; empty where no sentence is known.
[[nodiscard]] std::string_view describe_xid(std::uint64_t xid);

}  // namespace ratoon::devices
