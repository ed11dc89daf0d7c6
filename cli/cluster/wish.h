// Which cluster somebody means, and where the way there is written down. Pure.
#pragma once

#include <functional>
#include <string>

#include <ratoon/result.h>

#include "operator/runtime/whereabouts.h"

namespace ratoon::cli {

struct ClusterWish {
  bool is_said = false;     // --cluster, or a program that knows nothing else
  std::string name_space;   // empty: that of the context
  bool is_for_all = false;  // namespaces
  std::string kubeconfig;   // empty: found by choose_kubeconfig()
  std::string context;      // empty: the current one
};

// Whether anything of it was said: without a word, a run of this machine is meant.
[[nodiscard]] bool means_cluster(const ClusterWish& wish);

// The file that leads to the cluster: as wished, else what KUBECONFIG names, else ~/.kube/config. Empty in a
// pod without any of them, which has its service account.
[[nodiscard]] Result<std::string> choose_kubeconfig(const ClusterWish& wish,
                                                    const runtime::Environment& environment,
                                                    const std::function<bool(const std::string&)>& exists);

}  // namespace ratoon::cli
