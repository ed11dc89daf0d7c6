#include "agent/src/session/joining.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stop_token>
#include <utility>

#include "agent/src/checkpoint/file_names.h"
#include "agent/src/session/fail.h"
#include "agent/src/session/say.h"
#include "base/core/pause.h"

namespace ratoon::session {
namespace {

constexpr Duration kLookPauseMin = std::chrono::seconds(1);
constexpr Duration kLookPauseMax = std::chrono::seconds(30);
constexpr Duration kLookPatience = std::chrono::minutes(5);  // of all pauses together

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

[[noreturn]] void fail_to_look(const Error& why) {
  fail(why.kind() == ErrorKind::kCorrupted ? ExitCode::kCheckpointsBad : exit_code_of(why), why.message());
}

// A place that was there a moment ago and does not answer for now, while no world is to be had either, ends
// no process: it is looked at again, ever more rarely.
checkpoint::Inventory look_again(const Link& link, const Looking& looking) {
  Duration pause = kLookPauseMin;
  Duration paused{0};
  for (;;) {
    auto inventory = looking.look();
    if (inventory) return *std::move(inventory);
    if (!inventory.error().is_retryable() || paused >= kLookPatience || link.standing() != Standing::kGoOn)
      fail_to_look(inventory.error());
    if (paused == Duration(0))
      say("the run's places cannot be looked at for now, and are looked at again: " +
          inventory.error().message());
    looking.pause(pause);
    paused += pause;
    pause = std::min(2 * pause, kLookPauseMax);
  }
}

Result<Assignment> ask_for_world(Link& link, Places& places, const Unreadable& unreadable,
                                 const checkpoint::Inventory& inventory) {
  const auto entries = report(inventory, unreadable);
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
    if (is_refused_by_disk(inventory, unreadable)) {
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
  return link.join(entries, inventory.newest_attempt);
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

// A process that had a plan of a rollback when it began to wait may be seated after another attempt carried
// it out: the record of now decides.
void look_for_rollback(Places& places) {
  if (!places.rollback().to) return;
  const auto found = places.look();
  if (!found) fail_to_look(found.error());
}

// For so long, or until the link has something to say.
void pause_beside(const Link& link, Duration time) {
  constexpr Duration kSlice = std::chrono::milliseconds(100);
  for (; time > Duration(0) && link.standing() == Standing::kGoOn; time -= kSlice)
    static_cast<void>(pause_for(std::min(time, kSlice), std::stop_token()));
}

}  // namespace

Assignment join_world(Link& link, Places& places, const Unreadable& unreadable) {
  return join_world(
      link, places, unreadable,
      {.look = [&] { return places.look(); }, .pause = [&](Duration time) { pause_beside(link, time); }});
}

Assignment join_world(Link& link, Places& places, const Unreadable& unreadable, const Looking& looking) {
  const auto first = looking.look();
  if (!first) fail_to_look(first.error());
  auto assignment = ask_for_world(link, places, unreadable, *first);
  // A coordinator that comes back knows of no checkpoint but those that it is told of: each call tells anew.
  // No limit: a world may wait for as long as it takes. Between two calls the link pauses.
  while (!assignment && assignment.error().is_retryable())
    assignment = ask_for_world(link, places, unreadable, look_again(link, looking));
  if (assignment) {
    check_that_it_counts(*assignment, places);
    look_for_rollback(places);
    return *assignment;
  }
  if (link.standing() == Standing::kFenced) fail(ExitCode::kStartAgain, assignment.error().message());
  // Told to stop, or that the job is over: that is the answer to what was asked, or came before it.
  if (assignment.error().kind() == ErrorKind::kCancelled || link.standing() == Standing::kStop)
    fail(ExitCode::kPreempted, assignment.error().message());
  fail(exit_code_of(assignment.error()), "the world cannot be joined: " + assignment.error().message());
}

}  // namespace ratoon::session
