// Makes Kubernetes events: messages for people, which `kubectl describe` shows.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::kube {

struct EventText {
  bool is_warning = false;
  std::string reason;   // one word in CamelCase
  std::string message;  // a sentence

  friend auto operator<=>(const EventText&, const EventText&) = default;
};

// Returns a new event. `name` must be new in the job's namespace; `reporter`: this program's instance.
[[nodiscard]] nlohmann::json make_event(const api::ObjectMeta& job, const EventText& text,
                                        const std::string& name, const std::string& reporter, WallTime time,
                                        std::uint32_t count = 1);

// Returns the patch that counts a repetition of an existing event. The patch is for a core/v1 Event, because
// events.k8s.io does not allow a note to change.
[[nodiscard]] nlohmann::json repeat_event(const std::string& note, std::uint32_t count, WallTime time);

}  // namespace ratoon::kube
