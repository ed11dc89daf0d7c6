#include "cli/cluster/access/cluster_options.h"

namespace ratoon::cli {
namespace {

constexpr const char* kNamespace = "--namespace";

}  // namespace

void add_cluster_options(CLI::App& command, ClusterSelection& selection, bool is_plugin) {
  selection.is_requested = is_plugin;
  if (!is_plugin)
    command.add_flag("--cluster", selection.is_requested, "Show jobs of a cluster, not runs of this machine");
  command.add_option(std::string("-n,") + kNamespace, selection.name_space,
                     "Show the cluster's jobs in this namespace (default: the context's)");
  command.add_option("--kubeconfig", selection.kubeconfig,
                     "The kubeconfig file to use (default: KUBECONFIG, then ~/.kube/config)");
  command.add_option("--context", selection.context, "The kubeconfig's context (default: the current one)");
}

void add_all_namespaces_option(CLI::App& command, ClusterSelection& selection) {
  command
      .add_flag("-A,--all-namespaces", selection.is_for_all_namespaces,
                "Show the cluster's jobs in all namespaces")
      ->excludes(command.get_option(kNamespace));
}

}  // namespace ratoon::cli
