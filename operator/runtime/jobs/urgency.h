// The urgency of a change of a job.
#pragma once

namespace ratoon::runtime {

// Values are in the order in which jobs are handled.
enum class Urgency {
  kDisruption,  // a node gets notice or a member's pod ends: every second is lost training time
  kRoutine,
};

}  // namespace ratoon::runtime
