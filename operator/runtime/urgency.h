// Urgency of news about a job.
#pragma once

namespace ratoon::runtime {

// In the order in which they are looked at.
enum class Urgency {
  kDisruption,  // a node gives notice or a member's pod ends: every second of it is lost to somebody
  kRoutine,
};

}  // namespace ratoon::runtime
