// The check that `helm test` runs: whether an installed operator serves, and whether the API server accepts a
// TrainingJob. The check creates nothing.
#pragma once

#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/operator.h"

namespace ratoon::runtime {

struct InstallationCheck {
  std::string deployment;  // in the namespace of the client
  std::string lease_name;
  Duration timeout = std::chrono::seconds(60);  // for operators that still start
};

// Waits until the Deployment is available and one of its operators leads, then has a TrainingJob checked as a
// dry run. An error names the part that is missing.
[[nodiscard]] Result<void> check_installation(const ApiClient& client, const Clock& clock,
                                              const InstallationCheck& check);

// The same, as the pod's service account or by the kubeconfig of the options.
[[nodiscard]] Result<void> run_installation_check(const OperatorOptions& options,
                                                  const std::string& deployment);

}  // namespace ratoon::runtime
