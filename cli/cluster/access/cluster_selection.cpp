#include "cli/cluster/access/cluster_selection.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/core/split_join.h"

namespace ratoon::cli {
namespace {

// If KUBECONFIG names several existing files, kubectl merges them; this program returns an error instead.
Result<std::string> first_existing_path(const std::string& list,
                                        const std::function<bool(const std::string&)>& exists) {
  const auto named = split(list, ':');
  std::vector<std::string> there;
  std::ranges::copy_if(named, std::back_inserter(there),
                       [&](const auto& path) { return !path.empty() && exists(path); });
  if (there.size() == 1) return there.front();
  if (there.empty())
    return Error(ErrorKind::kNotFound,
                 "KUBECONFIG names " + list + ", which does not exist: name a file with --kubeconfig");
  return Error(ErrorKind::kInvalid,
               "KUBECONFIG names several files, " + join(there, ", ") + ": choose one with --kubeconfig");
}

}  // namespace

bool selects_cluster(const ClusterSelection& selection) {
  return selection.is_requested || selection.is_for_all_namespaces || !selection.name_space.empty() ||
         !selection.kubeconfig.empty() || !selection.context.empty();
}

Result<std::string> choose_kubeconfig(const ClusterSelection& selection,
                                      const runtime::EnvironmentLookup& environment,
                                      const std::function<bool(const std::string&)>& exists) {
  if (!selection.kubeconfig.empty()) return selection.kubeconfig;
  if (const auto list = environment("KUBECONFIG"); list && !list->empty())
    return first_existing_path(*list, exists);
  const std::string usual = environment("HOME").value_or("") + "/.kube/config";
  if (exists(usual)) return usual;
  if (environment("KUBERNETES_SERVICE_HOST") && selection.context.empty()) return std::string();
  return Error(
      ErrorKind::kNotFound,
      "no cluster is known here: --kubeconfig and KUBECONFIG name no file, and " + usual + " does not exist");
}

}  // namespace ratoon::cli
