#include "operator/core/policy/save_time.h"

#include <algorithm>
#include <chrono>

namespace ratoon::core {
namespace {

constexpr auto kSaveTimeoutMin = std::chrono::seconds(60);
constexpr auto kSaveMargin = std::chrono::seconds(10);  // for the step before the save, and for slower disks
// The greatest plausible duration of a save: a longer duration is a mistake of the process that reported it.
constexpr auto kSaveDurationMax = std::chrono::hours(24);

Duration time_of_two_saves(Duration save) {
  return 2 * save + kSaveMargin;
}

}  // namespace

std::optional<Duration> longest_save_duration(const Observation& seen) {
  std::optional<Duration> longest;
  for (const auto& process : seen.processes) {
    if (!process.beat || !process.beat->save_seconds) continue;
    const Duration save = std::min<Duration>(from_seconds(*process.beat->save_seconds), kSaveDurationMax);
    longest = std::max(save, longest.value_or(save));
  }
  return longest;
}

Duration save_timeout(const Observation& seen) {
  return std::max<Duration>(kSaveTimeoutMin,
                            time_of_two_saves(longest_save_duration(seen).value_or(Duration(0))));
}

bool has_time_for_two_saves(const Observation& seen, std::optional<WallTime> end) {
  const auto save = longest_save_duration(seen);
  return !save || !end || end->since_epoch - seen.wall_now.since_epoch > time_of_two_saves(*save);
}

}  // namespace ratoon::core
