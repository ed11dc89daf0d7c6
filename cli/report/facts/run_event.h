// Decodes the lines of a local run's events.jsonl (docs/reference/events.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::cli {

struct RunEvent {
  std::string kind{};
  WallTime at;
  std::uint64_t attempt = 0;
  std::uint64_t step = 0;
  std::uint64_t size = 0;
  std::string member{};
  std::string role{};
  std::uint64_t index = 0;
  std::string node{};
  std::string state{};
  std::string phase{};
  std::string reason{};  // of news
  std::string message{};
  std::optional<api::Disruption> disruption{};
  std::optional<api::JobTimeLedger> ledger{};
};

// Returns the events in the order of the file. Skips unreadable lines, because a killed `ratoon run` may
// leave half a line.
[[nodiscard]] std::vector<RunEvent> decode_events(std::string_view text);

}  // namespace ratoon::cli
