// The EndpointSlice of the Service that members call: it holds the leader's address and no other, so that a
// standby gets no call.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

// The slice of this Service for the family of `address`; the chart makes one a family.
[[nodiscard]] std::string slice_name(const std::string& service, const std::string& address);
// The patch that makes the slice lead to `address` alone, refused if anybody has written it since; an empty
// object where it leads there.
[[nodiscard]] nlohmann::json lead_to(const nlohmann::json& slice, const std::string& address,
                                     std::uint16_t port);

// The whole slice, as the chart makes it, where there is none.
[[nodiscard]] nlohmann::json make_slice(const std::string& service, const std::string& address,
                                        std::uint16_t port);

}  // namespace ratoon::kube
