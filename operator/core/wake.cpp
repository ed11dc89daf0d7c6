#include "operator/core/wake.h"

#include <algorithm>

namespace ratoon::core {

void wake_by(std::optional<WallTime> moment, WallTime wall_now, Timestamp now, Decision& decision) {
  if (!moment) return;
  const Timestamp due = now + std::max(Duration(0), moment->since_epoch - wall_now.since_epoch);
  decision.wake_at = std::min(due, decision.wake_at.value_or(due));
}

}  // namespace ratoon::core
