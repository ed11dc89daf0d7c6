// operator/kube/access/: credentials for the API server. ApiServerAccess: the address of the API server, and
// this program's credentials, decoded from a kubeconfig or from a pod's service account. The functions here
// open no file themselves: the caller passes a function that reads files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/kube/access/credential_plugin.h"

namespace ratoon::kube {

struct ApiServerAccess {
  std::string server;           // https://host:port, without a slash at the end
  std::string ca_pem;           // empty: the system's authorities
  std::string ca_file;          // file of ca_pem, if it may change
  std::string certificate_pem;  // empty: no client certificate
  std::string private_key_pem;
  std::string proxy;        // URL of the proxy to the server; empty: none
  std::string server_name;  // expected in the server's certificate; empty: the server's host
  std::string token;
  std::string token_file;                      // takes precedence over token; read again, as tokens expire
  std::optional<CredentialPlugin> plugin{};    // gives the token, the client certificate or both
  std::optional<WallTime> token_expires_at{};  // expiry of the plugin's token, if it gave one
  std::string name_space;                      // namespace of calls that name none
};

// The folder in which Kubernetes mounts a pod's service account.
inline constexpr std::string_view kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

// Reads a file that a kubeconfig names; relative paths are relative to the kubeconfig's folder.
using ReadKubeconfigFile = std::function<Result<std::string>(const std::string& path)>;

// Decodes a kubeconfig, given as JSON. If `context` is empty, uses the context in the field current-context.
[[nodiscard]] Result<ApiServerAccess> decode_kubeconfig(const nlohmann::json& document,
                                                        const std::string& context,
                                                        const ReadKubeconfigFile& read_file);

// Returns the access of a program in a pod, by the pod's service account. `host` and `port` are the values of
// the variables KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
[[nodiscard]] Result<ApiServerAccess> in_cluster_access(const std::string& host, const std::string& port,
                                                        const ReadKubeconfigFile& read_file);

}  // namespace ratoon::kube
