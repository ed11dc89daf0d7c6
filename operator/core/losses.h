// Everybody who is lost in this look, for whatever reason, and what that costs.
#pragma once

#include "operator/core/hang.h"
#include "operator/core/observation.h"
#include "operator/core/roster.h"
#include "operator/core/silence.h"

namespace ratoon::core {

// Since the last look.
struct Headway {
  bool has_stepped = false;
  bool has_advanced = false;  // a step that was never made before, or a save
};

[[nodiscard]] RosterChange change_roster(const Observation& seen, const Silence& silence, const Hang& hang,
                                         const Headway& headway, Timestamp now);

// In a sentence for those who leave their world because of it; `otherwise` where nobody was lost.
[[nodiscard]] std::string describe_loss(const Observation& seen, const RosterChange& change,
                                        const std::string& otherwise);

}  // namespace ratoon::core
