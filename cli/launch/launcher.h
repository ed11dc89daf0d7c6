// Runs the trainer processes of one member (pod). The launcher is the container's first process: it starts
// the processes, forwards signals, restarts killed processes, and ends with their exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::cli {

struct LauncherOptions {
  std::vector<std::string> command;
  std::uint32_t processes = 1;
  // The GPUs as in CUDA_VISIBLE_DEVICES, dealt to several processes in turn. A single process sees all of
  // them.
  std::vector<std::string> devices;
  std::optional<std::string> time_limit_since{};  // of a launch around this one; else it counts from here
  std::uint32_t restarts_max = 10;
  Duration grace = std::chrono::seconds(30);             // for the others, once one has failed
  std::function<void(const std::string& sentence)> say;  // must not block
  std::function<void()> retry_output;                    // called each second: writes pending output
};

// Returns the exit code, or an error if the program cannot be started.
[[nodiscard]] Result<int> launch(const LauncherOptions& plan, const Clock& clock);

}  // namespace ratoon::cli
