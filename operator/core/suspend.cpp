#include "operator/core/suspend.h"

#include <algorithm>
#include <chrono>

#include "operator/core/roster.h"

namespace ratoon::core {
namespace {

// As long as an agent waits for the commit of what it hands over.
constexpr auto kDrainPatience = std::chrono::seconds(60);

// A pod of this incarnation, or of a later one, was made or may have been.
bool has_pod(const Observation& seen, const api::MemberStatus& member) {
  return !member.uid.empty() || find_pod(seen, member) != nullptr;
}

}  // namespace

WallTime end_of_draining(const api::TrainingJobStatus& status) {
  return {status.suspending_since.value_or(WallTime{}).since_epoch + kDrainPatience};
}

void release_members(const Observation& seen, std::vector<api::MemberStatus>& members) {
  for (auto& member : members) {
    if (member.is_completed || (!has_pod(seen, member) && !member.is_leaving())) continue;
    member = {.role = member.role,
              .index = member.index,
              .incarnation = std::max(member.incarnation, member.successor) + 1,
              .is_absent = member.is_absent};
  }
}

}  // namespace ratoon::core
