// Finds out how to reach the API server, from files and what the environment says.
#pragma once

#include <string>

#include <ratoon/result.h>

#include "operator/kube/access.h"
#include "operator/runtime/run_program.h"

namespace ratoon::runtime {

// A kubeconfig file, in YAML or JSON. An empty `context` stands for its current-context. Where its user has a
// credential plugin, that is run once: what it gives is in `token` or the client certificate.
[[nodiscard]] Result<kube::Access> read_kubeconfig(const std::string& path, const std::string& context = {},
                                                   const RunProgram& run = run_program);

// What a pod finds mounted; host and port are KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
[[nodiscard]] Result<kube::Access> read_service_account(const std::string& host, const std::string& port);

}  // namespace ratoon::runtime
