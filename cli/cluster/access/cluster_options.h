// The options that select a cluster, shared by the commands that may ask one.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/cluster/access/cluster_selection.h"

namespace ratoon::cli {

// As kubectl's plugin a command asks only clusters, so it needs no --cluster.
void add_cluster_options(CLI::App& command, ClusterSelection& selection, bool is_plugin);

// -A, for commands that show jobs.
void add_all_namespaces_option(CLI::App& command, ClusterSelection& selection);

}  // namespace ratoon::cli
