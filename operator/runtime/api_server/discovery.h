// Discovery: finds the API server, and the address at which members find the operator, in the environment of
// the operator's pod. Reads the environment through a function, so that a test can replace it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "operator/kube/access/api_server_access.h"
#include "operator/kube/objects/election.h"

namespace ratoon::runtime {

using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

// The address of the Service that RATOON_COORDINATOR_SERVICE names, as Kubernetes puts it into the
// environment of every pod. Members therefore need no name lookup.
[[nodiscard]] Result<std::string> find_advertise_url(const EnvironmentLookup& environment, bool is_tls);

// The Service whose EndpointSlice should point to this pod, and the pod's address. There is no value outside
// of a cluster, where no Service is named.
struct OwnEndpoint {
  std::string service;
  std::string address;
};
[[nodiscard]] Result<std::optional<OwnEndpoint>> find_own_endpoint(const EnvironmentLookup& environment);

// This operator's identity among several; `start` is unique to this start of the program.
[[nodiscard]] kube::Candidate find_candidate(const EnvironmentLookup& environment, const std::string& start);

// Reads the kubeconfig file, or without one the pod's service account.
[[nodiscard]] Result<kube::ApiServerAccess> find_api_server_access(const std::string& kubeconfig_path,
                                                                   const EnvironmentLookup& environment);

}  // namespace ratoon::runtime
