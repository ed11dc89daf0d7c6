// Chooses the cluster that the user means, and its kubeconfig. The functions of this header read no file.
#pragma once

#include <functional>
#include <string>

#include <ratoon/result.h>

#include "operator/runtime/api_server/discovery.h"

namespace ratoon::cli {

struct ClusterSelection {
  bool is_requested = false;           // --cluster, or kubectl's plugin, which shows clusters alone
  std::string name_space;              // empty: that of the context
  bool is_for_all_namespaces = false;  // namespaces
  std::string kubeconfig;              // empty: found by choose_kubeconfig()
  std::string context;                 // empty: the current one
};

// Returns whether the user gave any cluster option; if not, the user means a run on this machine.
[[nodiscard]] bool selects_cluster(const ClusterSelection& selection);

// Returns the path of the kubeconfig: --kubeconfig, else KUBECONFIG, else ~/.kube/config. In a pod without a
// kubeconfig file the path is empty, and the program uses the pod's service account.
[[nodiscard]] Result<std::string> choose_kubeconfig(const ClusterSelection& selection,
                                                    const runtime::EnvironmentLookup& environment,
                                                    const std::function<bool(const std::string&)>& exists);

}  // namespace ratoon::cli
