#include "operator/runtime/api_server/discovery.h"

#include <algorithm>
#include <cctype>

#include "base/contract/names.h"
#include "operator/runtime/api_server/kubeconfig.h"

namespace ratoon::runtime {

Result<std::string> find_advertise_url(const EnvironmentLookup& environment, bool is_tls) {
  const auto service = environment("RATOON_COORDINATOR_SERVICE");
  if (!service) {
    return Error(ErrorKind::kInvalid,
                 "members could not find this operator: pass --advertise-url, or set "
                 "RATOON_COORDINATOR_SERVICE to the name of a Service in this pod's namespace");
  }
  std::string prefix = *service;
  std::transform(prefix.begin(), prefix.end(), prefix.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  const auto host = environment(prefix + "_SERVICE_HOST");
  const auto port = environment(prefix + "_SERVICE_PORT");
  if (!host || !port) {
    return Error(ErrorKind::kInvalid, prefix + "_SERVICE_HOST is not set: the Service " + *service +
                                          " was made after this pod; start the pod again");
  }
  const bool is_ipv6 = host->find(':') != std::string::npos;
  return (is_tls ? "https://" : "http://") + (is_ipv6 ? "[" + *host + "]" : *host) + ":" + *port;
}

Result<std::optional<OwnEndpoint>> find_own_endpoint(const EnvironmentLookup& environment) {
  const auto service = environment("RATOON_COORDINATOR_SERVICE");
  if (!service) return std::optional<OwnEndpoint>();
  const auto address = environment(names::env::kPodIp);
  if (!address) {
    return Error(ErrorKind::kInvalid, "the Service " + *service + " cannot point to this pod: set " +
                                          names::env::kPodIp + " to this pod's status.podIP");
  }
  return std::optional(OwnEndpoint{.service = *service, .address = *address});
}

kube::Candidate make_election_candidate(const EnvironmentLookup& environment, const std::string& start) {
  const std::string name = environment("HOSTNAME").value_or("ratoon-operator") + "/";
  const auto pod = environment("RATOON_POD_UID");
  const std::string seat = pod ? name + *pod + "/" : std::string();
  return {.identity = (pod ? seat : name) + start, .identity_prefix = seat};
}

Result<kube::ApiServerAccess> find_api_server_access(const std::string& kubeconfig_path,
                                                     const EnvironmentLookup& environment) {
  if (!kubeconfig_path.empty()) return read_kubeconfig(kubeconfig_path);
  const auto host = environment("KUBERNETES_SERVICE_HOST");
  if (!host)
    return Error(ErrorKind::kInvalid, "this process is not in a pod of a cluster: pass --kubeconfig FILE");
  return read_service_account(*host, environment("KUBERNETES_SERVICE_PORT").value_or("443"));
}

}  // namespace ratoon::runtime
