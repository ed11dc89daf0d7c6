#include "agent/src/session/shutdown/group_end.h"

#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "agent/src/session/options/location_options.h"

namespace ratoon::session {
namespace {

// Waits until the folder exists, because another rank may create it soon.
bool wait_for_folder(const Options& options, checkpoint::CallsWithTimeout& calls, Timestamp give_up,
                     Duration look, const Clock& clock) {
  for (;;) {
    const auto is_there = calls("looking for " + home_location(options), [folder = run_folder(options)] {
      std::error_code ignored;
      return Result<bool>(std::filesystem::is_directory(folder, ignored));
    });
    if (!is_there) return false;
    if (*is_there || clock.now() >= give_up) return *is_there;
    std::this_thread::sleep_for(look);
  }
}

// Opens the rendezvous folder to write the reason of this rank's end. If another process holds this rank's
// lock, the call file of that process shows whether it is of another launch.
Result<GroupRendezvous> open_for_end_report(const Options& options,
                                            const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                                            Timestamp give_up, Duration look, const Clock& clock) {
  for (;;) {
    auto folder = GroupRendezvous::open(options, calls, GroupRendezvous::Sweep::kNothing);
    if (folder) return folder;
    const ErrorKind kind = folder.error().kind();
    const bool is_held = kind == ErrorKind::kAlreadyExists || kind == ErrorKind::kConflict;
    if (!is_held) return folder;
    auto beside = GroupRendezvous::open_without_lock(options, calls);
    const auto is_of_another_launch = beside.is_rank_of_another_launch();
    // If the process that holds the lock is of this launch, it continues the training or informs the other
    // ranks itself.
    if (is_of_another_launch) return *is_of_another_launch ? std::move(beside) : std::move(folder);
    // The lock's holder has written no call file within the time limit, so it hangs or is of another launch.
    // Ranks above 0 write their reason even without the lock, because rank 0 may wait for them.
    if (clock.now() >= give_up) return options.group.rank == 0 ? std::move(folder) : std::move(beside);
    std::this_thread::sleep_for(look);
  }
}

}  // namespace

void repeat_until_all_informed(const std::function<Result<bool>()>& tell, Timestamp give_up, Duration look,
                               const Clock& clock) {
  for (;;) {
    const auto are_all_told = tell();
    if (are_all_told && *are_all_told) return;
    if (!are_all_told && are_all_told.error().kind() == ErrorKind::kIo) return;
    if (clock.now() >= give_up) return;
    std::this_thread::sleep_for(look);
  }
}

void report_end_to_group(const Options& options, const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                         const std::string& why, const GroupTimeouts& patience) {
  const bool meets_in_folder =
      options.group.size > 1 && options.member.coordinator_url.empty() && !is_home_in_store(options);
  if (!meets_in_folder) return;
  const SystemClock clock;
  const Timestamp give_up = clock.now() + patience.end_report_timeout;
  if (!wait_for_folder(options, *calls, give_up, patience.check_interval, clock)) return;
  const auto folder = open_for_end_report(options, calls, give_up, patience.check_interval, clock);
  if (!folder) return;
  const auto tell = [&] { return folder->end_before_call(why); };
  repeat_until_all_informed(tell, give_up, patience.check_interval, clock);
}

}  // namespace ratoon::session
