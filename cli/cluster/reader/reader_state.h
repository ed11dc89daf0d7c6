// Finds out, from the status of a reader pod and from events about the pod, whether the pod reads, waits or
// cannot read, and for which reason. Pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ratoon::cli {

enum class ReaderPhase {
  kWaiting,   // it may still start
  kStarted,   // its log can be read; it may have ended
  kCannotRun  // it will not start without a change
};

struct ReaderState {
  ReaderPhase phase = ReaderPhase::kWaiting;
  std::string why{};  // a sentence for people, without a full stop; empty once it has started
};

[[nodiscard]] ReaderState reader_state(const nlohmann::json& pod);

// Returns the reason why the pod waits, with the newest warning about the pod, and with advice if another
// node uses a volume. `events` are core/v1 Events about the pod.
[[nodiscard]] std::string explain_wait(const ReaderState& state, const std::vector<nlohmann::json>& events);

// Returns why the reader ended before it wrote its last line, such as a lack of memory.
[[nodiscard]] std::string explain_early_end(const nlohmann::json& pod);

}  // namespace ratoon::cli
