#include "operator/core/decision.h"

namespace ratoon::core {

std::vector<std::string> uids_deleted_with_grace(const std::vector<Action>& actions) {
  std::vector<std::string> uids;
  for (const auto& action : actions) {
    const auto* removal = std::get_if<DeletePod>(&action);
    if (removal != nullptr && removal->has_grace) uids.push_back(removal->uid);
  }
  return uids;
}

}  // namespace ratoon::core
