// Makes Kubernetes events: messages for people, which `kubectl describe` shows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/contract/names.h"
#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::kube {

struct EventText {
  bool is_warning = false;
  std::string reason;   // one word in CamelCase
  std::string message;  // a sentence

  friend auto operator<=>(const EventText&, const EventText&) = default;
};

struct EventSubjectKind {
  std::string_view version;
  std::string_view name;
};
inline constexpr EventSubjectKind kJobKind{names::kApiVersion, names::kKind};
inline constexpr EventSubjectKind kSecretKind{"v1", "Secret"};

// Returns a new event about `object`. `name` must be new in the object's namespace. `reporter` is the name of
// this program's instance.
[[nodiscard]] nlohmann::json make_event(const api::ObjectMeta& object, const EventText& text,
                                        const std::string& name, const std::string& reporter, WallTime time,
                                        std::uint32_t count = 1, const EventSubjectKind& kind = kJobKind);

// Returns the patch that increments the count of an existing event. The patch is for a core/v1 Event, because
// events.k8s.io does not allow a note to change.
[[nodiscard]] nlohmann::json make_event_repeat_patch(const std::string& note, std::uint32_t count,
                                                     WallTime time);

}  // namespace ratoon::kube
