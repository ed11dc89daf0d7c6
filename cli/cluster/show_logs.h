// `kubectl ratoon logs`: prints the output of a job's members (pods), line by line, with the member's number
// in front. When a member is replaced, the output of its replacement follows.
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

// Returns the exit code of `kubectl ratoon logs`.
[[nodiscard]] int show_logs(const ClusterSelection& selection, const LogsRequest& request);

}  // namespace ratoon::cli
