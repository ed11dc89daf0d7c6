// Runs `ratoon` in a reader pod: creates the pod, waits for it, passes on its output, and deletes the pod,
// also after an error and after a stop request.
#pragma once

#include <chrono>
#include <stop_token>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "cli/cluster/access/job_client.h"
#include "cli/cluster/reader/relayed_output.h"

namespace ratoon::cli {

struct ReadingLimits {
  Duration start_timeout;
  // If the pod prints nothing for this time, the command prints the reason why it waits.
  Duration output_timeout = std::chrono::seconds(10);
};

// Returns the exit code of `ratoon` in the pod. Calls `take` with each piece of the output of `ratoon`.
[[nodiscard]] Result<int> read_in_pod(const JobClient& client, const nlohmann::json& pod,
                                      const ReadingLimits& limits, const RelayedOutput::Take& take,
                                      const std::stop_token& stop);

}  // namespace ratoon::cli
