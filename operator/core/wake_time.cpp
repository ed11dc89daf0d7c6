#include "operator/core/wake_time.h"

#include <algorithm>

namespace ratoon::core {

void wake_no_later_than(std::optional<WallTime> moment, WallTime wall_now, Timestamp now,
                        Decision& decision) {
  if (!moment) return;
  const Timestamp due = now + std::max(Duration(0), moment->since_epoch - wall_now.since_epoch);
  decision.wake_at = std::min(due, decision.wake_at.value_or(due));
}

}  // namespace ratoon::core
