// The processes of one member, as a container's first process: starts them, hands signals on, starts again
// what was killed, and ends with their code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::cli {

struct LaunchPlan {
  std::vector<std::string> command;
  std::uint32_t processes = 1;
  std::vector<std::string>
      devices;  // as in CUDA_VISIBLE_DEVICES, one after another to the processes; or none
  std::uint32_t restarts_max = 10;
  Duration grace = std::chrono::seconds(30);             // for the others, once one has failed
  std::function<void(const std::string& sentence)> say;  // does not wait for a reader
  std::function<void()> retry_output;                    // called each second: writes what was not taken yet
};

// Returns the exit code. An error: the program cannot be started.
[[nodiscard]] Result<int> launch(const LaunchPlan& plan, const Clock& clock);

// What this process may see of the machine's GPUs: what CUDA_VISIBLE_DEVICES lists, or where it is not set
// those of the driver; empty: none.
[[nodiscard]] std::vector<std::string> visible_devices(const std::optional<std::string>& listed);

}  // namespace ratoon::cli
