#include "agent/src/session/rendezvous/join_world.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stop_token>
#include <utility>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/history/last_row.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/telemetry/run_ledger.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/threads/pause.h"

namespace ratoon::session {
namespace {

constexpr Duration kListingPauseMin = std::chrono::seconds(1);
constexpr Duration kListingPauseMax = std::chrono::seconds(30);
constexpr Duration kListingTimeout = std::chrono::minutes(5);  // of all pauses together
// For this time a network file system may answer from a cache.
constexpr Duration kListingCacheTimeout = std::chrono::minutes(1);

// Lists the checkpoints that this process can load, then the other ones, which are reported so that the
// coordinator does not choose them.
std::vector<InventoryEntry> make_reported_inventory(checkpoint::Inventory inventory,
                                                    const UnreadableCheckpoints& unreadable) {
  // Only the 16 newest checkpoints are reported, which is enough to find a checkpoint that all ranks can
  // read.
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
  // Also list the checkpoints that a rollback has given up, because a coordinator may have recorded them as
  // usable.
  entries.insert(entries.end(), inventory.given_up.begin(),
                 inventory.given_up.begin() + std::min(kReportedMax, std::ssize(inventory.given_up)));
  return entries;
}

bool are_all_unreadable(const checkpoint::Inventory& inventory, const UnreadableCheckpoints& unreadable) {
  return std::any_of(unreadable.begin(), unreadable.end(),
                     [](const auto& one) { return one.second == ErrorKind::kIo; }) ||
         std::any_of(inventory.damaged.begin(), inventory.damaged.end(),
                     [](const auto& entry) { return entry.digest == checkpoint::kUnreadable; });
}

std::string home_folder_text(const CheckpointLocations& places) {
  return std::filesystem::path(places.home()->shown(checkpoint::kManifests)).parent_path().string();
}

[[noreturn]] void fail_listing(const Error& why) {
  fail(why.kind() == ErrorKind::kCorrupted ? ExitCode::kCheckpointsBad : exit_code_of(why), why.message());
}

// Lists the checkpoints again during the wait for other ranks. If a folder or store does not answer at
// present, the function tries again after a pause. Each pause is longer than the one before.
checkpoint::Inventory list_checkpoints_again(Link& link, const ListingFunctions& looking) {
  Duration pause = kListingPauseMin;
  Duration paused{0};
  for (;;) {
    link.begin_listing();
    auto inventory = looking.look();
    if (inventory) return *std::move(inventory);
    if (!inventory.error().is_retryable() || paused >= kListingTimeout ||
        link.world_status() != WorldStatus::kGoOn)
      fail_listing(inventory.error());
    if (paused == Duration(0))
      say("the run's folder and stores cannot be read at present, and are read again: " +
          inventory.error().message());
    looking.pause(pause);
    paused += pause;
    pause = std::min(2 * pause, kListingPauseMax);
  }
}

void note_history(Link& link, const CheckpointLocations& places) {
  const auto folder = places.folder();
  if (!folder) return;
  const auto last = history::find_last_row(*folder, kLedgerKind);
  if (last && *last) link.note_history((*last)->attempt, Step((*last)->row.step));
}

[[noreturn]] void fail_lost_manifests(const Error& why) {
  fail(why.kind() == ErrorKind::kCorrupted ? ExitCode::kCheckpointsBad : ExitCode::kStorage, why.message());
}

// Returns false after a change of the world, because the process then joins the next world.
bool is_ordered_to_leave(const Link& link) {
  const WorldStatus status = link.world_status();
  return status == WorldStatus::kStop || status == WorldStatus::kFenced;
}

// Checks that no location lost its manifests. If a location seems to have lost them and another location
// lists checkpoints, a commit since the listing or a cached listing may be the cause, so the function lists
// again for up to a minute. Returns the last inventory.
checkpoint::Inventory check_manifests_exist(checkpoint::Inventory inventory, Link& link,
                                            const CheckpointLocations& places,
                                            const ListingFunctions& looking) {
  for (Duration paused{0};; paused += kListingPauseMin) {
    const auto exist = places.check_manifests_exist(inventory);
    if (exist || is_ordered_to_leave(link)) return inventory;
    const bool may_change = exist.error().kind() == ErrorKind::kCorrupted && !inventory.complete.empty() &&
                            paused < kListingCacheTimeout;
    if (!may_change) fail_lost_manifests(exist.error());
    if (paused == Duration(0))
      say(exist.error().message() + "; the locations are listed again for up to a minute");
    looking.pause(kListingPauseMin);
    link.begin_listing();
    auto again = looking.look();
    if (!again) fail_listing(again.error());
    inventory = *std::move(again);
  }
}

Result<Assignment> request_assignment(Link& link, CheckpointLocations& places,
                                      const UnreadableCheckpoints& unreadable,
                                      const checkpoint::Inventory& inventory) {
  const auto entries = make_reported_inventory(inventory, unreadable);
  if (entries.empty()) {
    if (const auto exist = places.check_manifests_exist(inventory); !exist)
      fail_lost_manifests(exist.error());
  }
  if (!entries.empty() && !entries.front().is_complete) {
    if (const auto& to = places.rollback().to) {
      fail(ExitCode::kCheckpointsBad,
           "the checkpoint of step " + std::to_string(to->step.value()) +
               ", which --resume-from names, cannot be read: see the lines above; no checkpoint was set "
               "aside, name another step or leave the flag out");
    }
    if (are_all_unreadable(inventory, unreadable)) {
      fail(ExitCode::kStorage,
           "no checkpoint of the run can be read, but some may be intact: the disk fails; see the lines "
           "above, repair or mount the disk, and start again");
    }
    fail(ExitCode::kCheckpointsBad, "the run has " + std::to_string(entries.size()) +
                                        " checkpoints, but no checkpoint can be read; Ratoon does not start "
                                        "the run over by itself: `ratoon checkpoint verify " +
                                        home_folder_text(places) + "` shows the damage of each");
  }
  note_history(link, places);
  return link.join(entries, inventory.newest_attempt);
}

// Throws a Failure if the attempt's number is above the maximum, because the names of the attempt's files
// would be invalid.
void check_attempt_number(const Assignment& assignment, const CheckpointLocations& places) {
  if (assignment.attempt.value() <= checkpoint::kAttemptMax) return;
  fail(ExitCode::kConfiguration, "this would be attempt " + std::to_string(assignment.attempt.value()) +
                                     " of the run, but the largest attempt number is " +
                                     std::to_string(checkpoint::kAttemptMax) + ": a file in " +
                                     home_folder_text(places) +
                                     " has that number; move away the files that no attempt "
                                     "of this run has made, or give the run another name (--run-name)");
}

// Reads the records of rollbacks again, because another attempt may have made the planned rollback while this
// process waited.
void reread_rollbacks(CheckpointLocations& places) {
  if (!places.rollback().to) return;
  const auto found = places.list_resumable();
  if (!found) fail_listing(found.error());
}

// Pauses for `time`, or until the link receives an order.
void pause_until_order(const Link& link, Duration time) {
  constexpr Duration kSlice = std::chrono::milliseconds(100);
  for (; time > Duration(0) && !is_ordered_to_leave(link); time -= kSlice)
    static_cast<void>(pause_for(std::min(time, kSlice), std::stop_token()));
}

}  // namespace

Assignment join_world(Link& link, CheckpointLocations& places, const UnreadableCheckpoints& unreadable) {
  return join_world(link, places, unreadable,
                    {.look = [&] { return places.list_resumable(); },
                     .pause = [&](Duration time) { pause_until_order(link, time); }});
}

Assignment join_world(Link& link, CheckpointLocations& places, const UnreadableCheckpoints& unreadable,
                      const ListingFunctions& looking) {
  link.begin_listing();
  auto listed = looking.look();
  if (!listed) fail_listing(listed.error());
  // A location that lost its manifests lists nothing, so the run would resume from an older checkpoint of
  // another location, and its next commit would remove the newer checkpoints as files of no commit.
  const auto first = check_manifests_exist(*std::move(listed), link, places, looking);
  auto assignment = request_assignment(link, places, unreadable, first);
  // Each call of join() reports all checkpoints, because a restarted coordinator knows only checkpoints that
  // are reported to it. The number of calls of join() has no limit, because other ranks may start at any
  // time. The Link pauses between two calls of join().
  while (!assignment && assignment.error().is_retryable())
    assignment = request_assignment(link, places, unreadable, list_checkpoints_again(link, looking));
  if (assignment) {
    check_attempt_number(*assignment, places);
    reread_rollbacks(places);
    return *assignment;
  }
  if (link.world_status() == WorldStatus::kFenced) fail(ExitCode::kStartAgain, assignment.error().message());
  // kCancelled or kStop: this process was ordered to stop, or the job has ended.
  if (assignment.error().kind() == ErrorKind::kCancelled || link.world_status() == WorldStatus::kStop)
    fail(ExitCode::kPreempted, assignment.error().message());
  fail(exit_code_of(assignment.error()),
       "this process cannot join the other ranks: " + assignment.error().message());
}

}  // namespace ratoon::session
