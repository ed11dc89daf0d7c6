#include "cli/cluster/wish.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/core/lists.h"

namespace ratoon::cli {
namespace {

// kubectl would merge several; which of them counts for what is nothing to guess here.
Result<std::string> choose_of(const std::string& list,
                              const std::function<bool(const std::string&)>& exists) {
  const auto named = split(list, ':');
  std::vector<std::string> there;
  std::ranges::copy_if(named, std::back_inserter(there),
                       [&](const auto& path) { return !path.empty() && exists(path); });
  if (there.size() == 1) return there.front();
  if (there.empty())
    return Error(ErrorKind::kNotFound,
                 "KUBECONFIG names " + list + ", and there is no such file: name one with --kubeconfig");
  return Error(ErrorKind::kInvalid,
               "KUBECONFIG names several files, " + join(there, ", ") + ": name one with --kubeconfig");
}

}  // namespace

bool means_cluster(const ClusterWish& wish) {
  return wish.is_said || wish.is_for_all || !wish.name_space.empty() || !wish.kubeconfig.empty() ||
         !wish.context.empty();
}

Result<std::string> choose_kubeconfig(const ClusterWish& wish, const runtime::Environment& environment,
                                      const std::function<bool(const std::string&)>& exists) {
  if (!wish.kubeconfig.empty()) return wish.kubeconfig;
  if (const auto list = environment("KUBECONFIG"); list && !list->empty()) return choose_of(*list, exists);
  const std::string usual = environment("HOME").value_or("") + "/.kube/config";
  if (exists(usual)) return usual;
  if (environment("KUBERNETES_SERVICE_HOST") && wish.context.empty()) return std::string();
  return Error(
      ErrorKind::kNotFound,
      "no cluster is known here: --kubeconfig and KUBECONFIG name no file, and " + usual + " does not exist");
}

}  // namespace ratoon::cli
