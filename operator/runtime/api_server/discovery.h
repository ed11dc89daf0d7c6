// Discovery: finds, from the environment of the operator's pod, the API server and the address at which
// members reach the operator. Reads the environment through a function, so that a test can replace the
// environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "operator/kube/access/api_server_access.h"
#include "operator/kube/objects/election.h"

namespace ratoon::runtime {

using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

// Returns the URL of the Service that RATOON_COORDINATOR_SERVICE names. The URL has the IP address that
// Kubernetes puts into every pod's environment, so that members need no DNS lookup.
[[nodiscard]] Result<std::string> find_advertise_url(const EnvironmentLookup& environment, bool is_tls);

// The Service whose EndpointSlice should point to this pod, and the pod's address. Outside of a cluster, the
// environment names no Service, so find_own_endpoint() returns nothing.
struct OwnEndpoint {
  std::string service;
  std::string address;
};
[[nodiscard]] Result<std::optional<OwnEndpoint>> find_own_endpoint(const EnvironmentLookup& environment);

// Returns this operator's identity in the election; `start` is unique to this start of the program.
[[nodiscard]] kube::Candidate make_election_candidate(const EnvironmentLookup& environment,
                                                      const std::string& start);

// Reads the kubeconfig file, or if no path is given, the pod's service account.
[[nodiscard]] Result<kube::ApiServerAccess> find_api_server_access(const std::string& kubeconfig_path,
                                                                   const EnvironmentLookup& environment);

}  // namespace ratoon::runtime
