#include "agent/src/session/alone_link.h"

#include <algorithm>

namespace ratoon::session {

Result<std::unique_ptr<Link>> AloneLink::open(const Options& options, checkpoint::PatientCalls& calls,
                                              const std::function<bool()>& goes_on) {
  auto locks = lock_folders(options, FolderUse::kAlone, calls, {.goes_on = goes_on});
  if (!locks) return locks.error();
  return std::unique_ptr<Link>(new AloneLink(*std::move(locks)));
}

Result<Assignment> AloneLink::join(const std::vector<InventoryEntry>& inventory, Attempt newest_attempt) {
  Assignment assignment{.attempt = newest_attempt.next(),
                        .rank = Rank(0),
                        .world_size = 1,
                        .rendezvous = "127.0.0.1:0",
                        .resume = {}};
  for (const auto& entry : inventory) {
    if (!entry.is_complete || assignment.resume) continue;
    assignment.resume = ResumePoint{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  }
  return assignment;
}

void AloneLink::note(const Position&) {}

Result<void> AloneLink::complete(const Position&, const std::stop_token&) {
  return {};
}

}  // namespace ratoon::session
