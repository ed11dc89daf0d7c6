// The EndpointSlice of the Service through which members call the operator. The slice contains only the
// leader's address, so that a standby operator gets no calls.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

// Returns the name of this Service's slice for the IP family of `address`.
[[nodiscard]] std::string endpoint_slice_name(const std::string& service, const std::string& address);
// Returns the patch that makes `address` the slice's only address and sets the labels by which the Service
// finds the slice. Returns an empty object if the slice needs no change. The server refuses the patch if the
// slice was written after it was read.
[[nodiscard]] nlohmann::json make_slice_patch(const nlohmann::json& slice, const std::string& service,
                                              const std::string& address, std::uint16_t port);

// Returns a complete slice, which the caller creates if the slice does not exist.
[[nodiscard]] nlohmann::json make_endpoint_slice(const std::string& service, const std::string& address,
                                                 std::uint16_t port);

}  // namespace ratoon::kube
