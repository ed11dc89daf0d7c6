// Decides how long a process waits for a lock that another process holds, and with which error the wait ends.
//
// The kernel releases a lock when the process that holds it ends. If the holder's machine fails, the server
// of a network file system releases the lock only after the machine's lease (90 s with NFS 4). The lock file
// names the machine on which the lock was last taken. If that machine is the local machine, the holder is
// still running.
//
//   const auto lock = take_when_free(take, life, waiting);
//
// The function `take` tries to lock: it returns kAlreadyExists if a process of this machine has the lock, and
// kConflict if another machine has it.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/session/telemetry/say.h"
#include "base/core/clock.h"
#include "base/core/threads/pause.h"

namespace ratoon::session {

struct LockTimeouts {
  Duration leaving{0};                            // for a holder on this machine that is about to end
  Duration lease{std::chrono::seconds(100)};      // for a holder elsewhere: longer than the lease of a server
  Duration cache_time{std::chrono::seconds(60)};  // a file system may show cached data for this long
  Duration check_interval{std::chrono::milliseconds(250)};
  Duration first_report_after{std::chrono::seconds(10)};
};

// HolderActivity: signs that the holder of a lock on another machine still works. During the time
// `cache_time` at the beginning of the wait, no sign of life counts, because the file system's cache may show
// old changes late.
struct HolderActivity {
  std::optional<std::string> first_sign{};  // read once the caches are known to be new
  std::string now{};
};

enum class LockVerdict {
  kWait,
  kIsInUse,          // another process works with it: exit code 82
  kHolderMayBeGone,  // its holder may be gone: exit code 84
};
// Pure.
[[nodiscard]] LockVerdict judge_held_lock(bool is_on_this_machine, Duration waited,
                                          const LockTimeouts& patience, const HolderActivity& life);

// Writes the machine's boot_id to the lock file. The process that has taken the lock calls write_holder().
// write_holder() ignores write errors, because without the boot_id a later process only waits longer.
void write_holder(int fd, const std::string& boot_id);
// Returns whether the lock file says that the lock was last taken on the machine with this boot_id.
[[nodiscard]] bool was_taken_here(int fd, const std::string& boot_id);
// write_holder(fd) and was_taken_here(fd) use the boot_id of this machine.
void write_holder(int fd);
[[nodiscard]] bool was_taken_here(int fd);

// Returns the error for a lock that another process holds.
[[nodiscard]] Error held_lock_error(int fd, const std::string& what);
// Returns the error for a lock of another machine whose holder has shown no sign of life.
[[nodiscard]] Error lock_holder_lost_error(const Error& held, Duration waited);

struct LockWaitOptions {
  LockTimeouts patience{};
  // The function `goes_on` is called in each pause of the wait. If `goes_on` returns false, for example after
  // an order to end this process, the wait ends.
  std::function<bool()> goes_on = [] { return true; };
};

// Waits for a lock of another process. The function `life` returns a text that changes while the lock's
// holder works, if its work is visible. take_when_free() returns kCancelled if `goes_on` returned false.
template <class Take, class Life>
auto take_when_free(const Take& take, const Life& life, const LockWaitOptions& how, const Clock& clock) {
  const Timestamp began = clock.now();
  bool has_said = false;
  HolderActivity seen;
  for (;;) {
    auto taken = take();
    if (taken) return taken;
    const Error held = taken.error();
    const bool is_here = held.kind() == ErrorKind::kAlreadyExists;
    if (!is_here && held.kind() != ErrorKind::kConflict) return taken;
    const Duration waited = clock.now() - began;
    if (!is_here && !seen.first_sign && waited >= how.patience.cache_time) seen.first_sign = life();
    if (!is_here && waited >= how.patience.lease) seen.now = life();
    const LockVerdict verdict = judge_held_lock(is_here, waited, how.patience, seen);
    if (verdict == LockVerdict::kIsInUse)
      return decltype(taken)(Error(ErrorKind::kAlreadyExists, held.message()));
    if (verdict == LockVerdict::kHolderMayBeGone)
      return decltype(taken)(lock_holder_lost_error(held, waited));
    if (!how.goes_on())
      return decltype(taken)(Error(ErrorKind::kCancelled, "ordered to leave, while " + held.message()));
    if (!has_said && waited >= how.patience.first_report_after) {
      say(held.message() + "; this process waits for that lock");
      has_said = true;
    }
    static_cast<void>(pause_for(how.patience.check_interval, std::stop_token()));
  }
}

}  // namespace ratoon::session
