// Everybody who is lost in this look, for whatever reason, and what that costs.
#pragma once

#include "operator/core/hang.h"
#include "operator/core/observation.h"
#include "operator/core/roster.h"
#include "operator/core/silence.h"

namespace ratoon::core {

[[nodiscard]] RosterChange change_roster(const Observation& seen, const Silence& silence, const Hang& hang,
                                         bool has_stepped);

// In a sentence for those who leave their world because of it; `otherwise` where nobody was lost.
[[nodiscard]] std::string describe_loss(const Observation& seen, const RosterChange& change,
                                        const std::string& otherwise);

}  // namespace ratoon::core
