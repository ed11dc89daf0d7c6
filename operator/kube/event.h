// Events: news for people, as kubectl describe shows them.
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

// `name` must be new in the job's namespace; `reporter` is this program's instance.
[[nodiscard]] nlohmann::json make_event(const api::ObjectMeta& job, const EventText& text,
                                        const std::string& name, const std::string& reporter, WallTime time,
                                        std::uint32_t count = 1);

// What an event that was made before gets when the like happens again. It is a core event's: events.k8s.io
// lets no note be changed.
[[nodiscard]] nlohmann::json repeat_event(const std::string& note, std::uint32_t count, WallTime time);

}  // namespace ratoon::kube
