// The check that `helm test` runs. It checks that an installed operator leads, and that the API server
// accepts a TrainingJob. It creates no objects.
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

// Waits until the Deployment is available and one of its operators leads, then creates a TrainingJob as a dry
// run. An error names the part of the installation that is missing.
[[nodiscard]] Result<void> check_installation(const ApiClient& client, const Clock& clock,
                                              const InstallationCheck& check);

// Runs the check with the credentials of the kubeconfig in `options` or of the pod's service account.
[[nodiscard]] Result<void> run_installation_check(const OperatorOptions& options,
                                                  const std::string& deployment);

}  // namespace ratoon::runtime
