// Whereabouts: what the operator's own pod says about where the API server is and where members find the
// operator. Reads the environment through a function, so that a test can say what is in it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "operator/kube/access.h"
#include "operator/kube/election.h"

namespace ratoon::runtime {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// The address of the Service that RATOON_COORDINATOR_SERVICE names, as Kubernetes puts it into the
// environment of every pod: no name lookup is in the members' path.
[[nodiscard]] Result<std::string> find_advertise_url(const Environment& environment, bool is_tls);

// Where the Service's EndpointSlice is to lead, port apart: to this pod. Nothing outside of a cluster, where
// no Service is named.
struct OwnDoor {
  std::string service;
  std::string address;
};
[[nodiscard]] Result<std::optional<OwnDoor>> find_own_door(const Environment& environment);

// Who we are among several operators; `start` is of this start of the program.
[[nodiscard]] kube::Candidate find_candidate(const Environment& environment, const std::string& start);

// From the kubeconfig file, or without one from the pod's service account.
[[nodiscard]] Result<kube::Access> find_access(const std::string& kubeconfig_path,
                                               const Environment& environment);

}  // namespace ratoon::runtime
