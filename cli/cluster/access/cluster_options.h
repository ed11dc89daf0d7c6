// The command line options that select a cluster, shared by all commands that can ask a cluster.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/cluster/access/cluster_selection.h"

namespace ratoon::cli {

// A command of the kubectl plugin always asks a cluster, so it has no --cluster option.
void add_cluster_options(CLI::App& command, ClusterSelection& selection, bool is_plugin);

// Adds -A (all namespaces), for commands that show several jobs.
void add_all_namespaces_option(CLI::App& command, ClusterSelection& selection);

}  // namespace ratoon::cli
