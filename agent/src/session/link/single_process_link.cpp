#include "agent/src/session/link/single_process_link.h"

#include <algorithm>

namespace ratoon::session {

Result<std::unique_ptr<Link>> SingleProcessLink::open(const Options& options,
                                                      checkpoint::CallsWithTimeout& calls,
                                                      const std::function<bool()>& goes_on) {
  auto locks = lock_folders(options, FolderUse::kExclusive, calls, {.goes_on = goes_on});
  if (!locks) return locks.error();
  return std::unique_ptr<Link>(new SingleProcessLink(*std::move(locks)));
}

Result<Assignment> SingleProcessLink::join(const std::vector<InventoryEntry>& inventory,
                                           Attempt newest_attempt) {
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

void SingleProcessLink::note_position(const ProcessReport&) {}

Result<void> SingleProcessLink::complete(const ProcessReport&, const std::stop_token&) {
  return {};
}

}  // namespace ratoon::session
