// Which members are done: a run ends when all members that decide it are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/core/observation.h"

namespace ratoon::core {

// Whether all processes of this incarnation said that they are done, now or to an earlier operator.
[[nodiscard]] bool is_completed(const Observation& seen, const api::MemberStatus& member);

// A bit for each of its processes that said so. A new start of one takes it back.
[[nodiscard]] std::uint64_t done_in(const Observation& seen, const api::MemberStatus& member);

// Whether those who train have no step left to make: one of them is done, or is where the run ends.
[[nodiscard]] bool has_made_last_step(const Observation& seen);

// A completion holds as long as the checkpoint of that step does. Where the run goes on from before it, takes
// back those of all members, who begin anew, and tells of it; empty: nothing was to be taken back.
[[nodiscard]] std::string take_back_completions(const Observation& seen,
                                                const std::optional<ResumePoint>& resume,
                                                api::TrainingJobStatus& status);

}  // namespace ratoon::core
