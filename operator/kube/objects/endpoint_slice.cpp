#include "operator/kube/objects/endpoint_slice.h"

#include <algorithm>

#include "operator/kube/lenient_json.h"

namespace ratoon::kube {

using nlohmann::json;

std::string endpoint_slice_name(const std::string& service, const std::string& address) {
  return service + (address.find(':') == std::string::npos ? "-ipv4" : "-ipv6");
}

namespace {

// The Service finds its EndpointSlices by a label. The slice has no label of the Helm release, because with
// such a label Argo CD would treat the slice as removed from the chart.
json labels_of(const std::string& service) {
  return {{"app.kubernetes.io/component", "coordinator"},
          {"kubernetes.io/service-name", service},
          {"endpointslice.kubernetes.io/managed-by", "operator.ratoon.dev"}};
}

bool has_labels(const json& slice, const json& labels) {
  const json& found = child(child(slice, "metadata"), "labels");
  return std::ranges::all_of(labels.items(), [&](const auto& each) {
    return string_field(found, each.key().c_str()) == each.value().template get<std::string>();
  });
}

}  // namespace

json make_endpoint_slice(const std::string& service, const std::string& address, std::uint16_t port) {
  json slice = make_slice_patch(json::object(), service, address, port);  // its metadata is replaced below
  slice["apiVersion"] = "discovery.k8s.io/v1";
  slice["kind"] = "EndpointSlice";
  slice["addressType"] = address.find(':') == std::string::npos ? "IPv4" : "IPv6";
  slice["metadata"] = {{"name", endpoint_slice_name(service, address)}, {"labels", labels_of(service)}};
  return slice;
}

json make_slice_patch(const json& slice, const std::string& service, const std::string& address,
                      std::uint16_t port) {
  const json& endpoints = items_of(slice, "endpoints");
  const json& ports = items_of(slice, "ports");
  const bool is_there = endpoints.size() == 1 && child(endpoints[0], "addresses") == json::array({address}) &&
                        bool_field(child(endpoints[0], "conditions"), "ready") && ports.size() == 1 &&
                        int_field(ports[0], "port") == port && has_labels(slice, labels_of(service));
  if (is_there) return json::object();
  return {{"metadata",
           {{"resourceVersion", string_field(child(slice, "metadata"), "resourceVersion")},
            {"labels", labels_of(service)}}},
          {"endpoints",
           json::array({{{"addresses", json::array({address})}, {"conditions", {{"ready", true}}}}})},
          {"ports", json::array({{{"name", "coordinator"}, {"port", port}, {"protocol", "TCP"}}})}};
}

}  // namespace ratoon::kube
