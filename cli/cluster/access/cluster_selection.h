// The cluster that the user means, and the kubeconfig that leads to it. Pure.
#pragma once

#include <functional>
#include <string>

#include <ratoon/result.h>

#include "operator/runtime/api_server/discovery.h"

namespace ratoon::cli {

struct ClusterSelection {
  bool is_said = false;     // --cluster, or kubectl's plugin, which shows clusters alone
  std::string name_space;   // empty: that of the context
  bool is_for_all = false;  // namespaces
  std::string kubeconfig;   // empty: found by choose_kubeconfig()
  std::string context;      // empty: the current one
};

// Whether any option of a cluster was given. Without such an option, the user means a run of this machine.
[[nodiscard]] bool selects_cluster(const ClusterSelection& selection);

// Returns the kubeconfig: the selected one, else the file of KUBECONFIG, else ~/.kube/config. The value is
// empty in a pod without any of these files, which uses its service account.
[[nodiscard]] Result<std::string> choose_kubeconfig(const ClusterSelection& selection,
                                                    const runtime::EnvironmentLookup& environment,
                                                    const std::function<bool(const std::string&)>& exists);

}  // namespace ratoon::cli
