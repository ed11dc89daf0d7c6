// The EndpointSlice of the Service that members call. The slice contains only the leader's address, so that a
// standby gets no calls.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

// The slice of this Service for the IP family of `address`; the chart creates one per family.
[[nodiscard]] std::string slice_name(const std::string& service, const std::string& address);
// The patch that makes the slice point only to `address`. The server refuses the patch if the slice was
// written after it was read. The patch is an empty object if the slice points there already.
[[nodiscard]] nlohmann::json point_slice_to(const nlohmann::json& slice, const std::string& address,
                                            std::uint16_t port);

// Returns the whole slice as the chart creates it, for the case that there is no slice.
[[nodiscard]] nlohmann::json make_slice(const std::string& service, const std::string& address,
                                        std::uint16_t port);

}  // namespace ratoon::kube
