// `kubectl ratoon logs`: the output of a job's members, line by line and with the number of the member in
// front. It is followed across replacements of members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/cluster/access/cluster_selection.h"

namespace ratoon::cli {

struct LogsRequest {
  std::string job;
  std::string member;  // "worker-1"; empty: all
  bool is_followed = false;
  std::optional<std::uint32_t> lines_max;  // of each member, from the end
};

// Returns the exit code.
[[nodiscard]] int show_logs(const ClusterSelection& selection, const LogsRequest& request);

}  // namespace ratoon::cli
