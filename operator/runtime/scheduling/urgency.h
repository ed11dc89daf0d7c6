// How soon the operator must decide about a job after a change.
#pragma once

namespace ratoon::runtime {

// The values of this enum are in the order in which the operator handles jobs.
enum class Urgency {
  kDisruption,  // a node gets notice or a member's pod ends: every second is lost training time
  kRoutine,
};

}  // namespace ratoon::runtime
