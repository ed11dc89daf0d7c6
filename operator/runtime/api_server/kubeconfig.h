// Reads the API server's address and credentials from a kubeconfig or from a pod's service account.
#pragma once

#include <string>

#include <ratoon/result.h>

#include "operator/kube/access/api_server_access.h"
#include "operator/runtime/api_server/run_program.h"

namespace ratoon::runtime {

// Reads a kubeconfig file, in YAML or JSON. An empty `context` means the file's current-context. If the
// kubeconfig's user has a credential plugin, runs the plugin once, and stores the plugin's result as `token`,
// as the client certificate or as both.
[[nodiscard]] Result<kube::ApiServerAccess> read_kubeconfig(const std::string& path,
                                                            const std::string& context = {},
                                                            const RunProgram& run = run_program);

// Reads the service account that is mounted into this pod; host and port are KUBERNETES_SERVICE_HOST and
// KUBERNETES_SERVICE_PORT.
[[nodiscard]] Result<kube::ApiServerAccess> read_service_account(const std::string& host,
                                                                 const std::string& port);

}  // namespace ratoon::runtime
