#include "agent/src/session/joining.h"

#include <algorithm>
#include <filesystem>

#include "agent/src/checkpoint/file_names.h"
#include "agent/src/session/fail.h"

namespace ratoon::session {
namespace {

// What can be loaded, and after it what cannot, so that nobody picks it for us.
std::vector<InventoryEntry> report(checkpoint::Inventory inventory, const Unreadable& unreadable) {
  // The newest few are enough to find one that all can reach.
  constexpr std::ptrdiff_t kReportedMax = 16;
  for (auto& entry : inventory.complete) {
    if (unreadable.contains({.attempt = entry.attempt, .step = entry.step})) entry.is_complete = false;
  }
  const auto bad = std::stable_partition(inventory.complete.begin(), inventory.complete.end(),
                                         [](const auto& entry) { return entry.is_complete; });
  std::vector<InventoryEntry> entries(
      inventory.complete.begin(),
      inventory.complete.begin() + std::min(kReportedMax, bad - inventory.complete.begin()));
  entries.insert(entries.end(), bad, bad + std::min(kReportedMax, inventory.complete.end() - bad));
  entries.insert(entries.end(), inventory.damaged.begin(),
                 inventory.damaged.begin() + std::min(kReportedMax, std::ssize(inventory.damaged)));
  // Somebody may remember those as good.
  entries.insert(entries.end(), inventory.given_up.begin(),
                 inventory.given_up.begin() + std::min(kReportedMax, std::ssize(inventory.given_up)));
  return entries;
}

bool is_refused_by_disk(const checkpoint::Inventory& inventory, const Unreadable& unreadable) {
  return std::any_of(unreadable.begin(), unreadable.end(),
                     [](const auto& one) { return one.second == ErrorKind::kIo; }) ||
         std::any_of(inventory.damaged.begin(), inventory.damaged.end(),
                     [](const auto& entry) { return entry.digest == checkpoint::kUnreadable; });
}

std::string folder_of(const Places& places) {
  return std::filesystem::path(places.home()->shown(checkpoint::kManifests)).parent_path().string();
}

Result<Assignment> ask_for_world(Link& link, Places& places, const Unreadable& unreadable) {
  const auto inventory = places.look();
  if (!inventory && inventory.error().kind() == ErrorKind::kCorrupted)
    fail(ExitCode::kCheckpointsBad, inventory.error().message());
  if (!inventory) fail(exit_code_of(inventory.error()), inventory.error().message());
  const auto entries = report(*inventory, unreadable);
  if (entries.empty()) {
    if (const auto whole = places.check_that_none_were_lost(); !whole)
      fail(whole.error().kind() == ErrorKind::kCorrupted ? ExitCode::kCheckpointsBad : ExitCode::kStorage,
           whole.error().message());
  }
  if (!entries.empty() && !entries.front().is_complete) {
    if (const auto& to = places.rollback().to) {
      fail(ExitCode::kCheckpointsBad, "the checkpoint of step " + std::to_string(to->step.value()) +
                                          ", where --resume-from goes back to, cannot be read: see the lines "
                                          "above; nothing was given up, name another step or leave the flag "
                                          "out");
    }
    if (is_refused_by_disk(*inventory, unreadable)) {
      fail(ExitCode::kStorage,
           "no checkpoint of the run can be read, and some may be sound: the disk refuses; see the lines "
           "above, "
           "mend or mount it, start again");
    }
    fail(ExitCode::kCheckpointsBad, "the run has " + std::to_string(entries.size()) +
                                        " checkpoints and none can be read; nothing is started over by "
                                        "itself: `ratoon checkpoint verify " +
                                        folder_of(places) + "` says what each lacks");
  }
  return link.join(entries, inventory->newest_attempt);
}

// Its files would bear names that are nobody's: what it saved would not be found again.
void check_that_it_counts(const Assignment& assignment, const Places& places) {
  if (assignment.attempt.value() <= checkpoint::kAttemptMax) return;
  fail(ExitCode::kConfiguration,
       "this would be attempt " + std::to_string(assignment.attempt.value()) +
           " of the run, and attempts are counted up to " + std::to_string(checkpoint::kAttemptMax) +
           ": something in " + folder_of(places) +
           " bears the number of the last one; move away what no attempt of this run has made, or give the "
           "run another name (--run-name)");
}

}  // namespace

Assignment join_world(Link& link, Places& places, const Unreadable& unreadable) {
  auto assignment = ask_for_world(link, places, unreadable);
  // A coordinator that comes back knows of no checkpoint but those that it is told of: each call tells anew.
  while (!assignment && assignment.error().is_retryable())
    assignment = ask_for_world(link, places, unreadable);
  if (assignment) {
    check_that_it_counts(*assignment, places);
    return *assignment;
  }
  if (link.standing() == Standing::kFenced) fail(ExitCode::kStartAgain, assignment.error().message());
  if (assignment.error().kind() == ErrorKind::kCancelled)
    fail(ExitCode::kPreempted, assignment.error().message());
  const ErrorKind kind = assignment.error().kind();
  const bool is_of_disk = kind == ErrorKind::kIo || kind == ErrorKind::kNoSpace;
  fail(is_of_disk ? ExitCode::kStorage : ExitCode::kConfiguration,
       "the world cannot be joined: " + assignment.error().message());
}

}  // namespace ratoon::session
