#include "operator/kube/endpoint_slice.h"

#include "operator/kube/lenient.h"

namespace ratoon::kube {

using nlohmann::json;

std::string slice_name(const std::string& service, const std::string& address) {
  return service + (address.find(':') == std::string::npos ? "-ipv4" : "-ipv6");
}

json lead_to(const json& slice, const std::string& address, std::uint16_t port) {
  const json& endpoints = items_of(slice, "endpoints");
  const json& ports = items_of(slice, "ports");
  const bool is_there = endpoints.size() == 1 && child(endpoints[0], "addresses") == json::array({address}) &&
                        flag_in(child(endpoints[0], "conditions"), "ready") && ports.size() == 1 &&
                        whole_in(ports[0], "port") == port;
  if (is_there) return json::object();
  return {{"metadata", {{"resourceVersion", text_in(child(slice, "metadata"), "resourceVersion")}}},
          {"endpoints",
           json::array({{{"addresses", json::array({address})}, {"conditions", {{"ready", true}}}}})},
          {"ports", json::array({{{"name", "coordinator"}, {"port", port}, {"protocol", "TCP"}}})}};
}

}  // namespace ratoon::kube
