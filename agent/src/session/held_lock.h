// HeldLock: how long a process waits for a lock that another process holds, and what it ends with then.
//
// The kernel frees a lock when its holder ends. A network file system cannot tell that the machine of a
// holder is gone: its server frees the lock once the lease of that machine has passed (90 s with NFS 4). The
// file of a lock says on which machine it was taken last, so a holder of this machine is known to be alive.
//
//   const auto lock = take_when_free(take, life, waiting);
//
// `take` gives kAlreadyExists where a process of this machine holds the lock, and kConflict where another
// machine holds it.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/session/say.h"
#include "base/core/clock.h"
#include "base/core/pause.h"

namespace ratoon::session {

struct LockPatience {
  Duration leaving{0};                        // for a holder of this machine that ends just now
  Duration lease{std::chrono::seconds(100)};  // for one elsewhere: longer than the lease of a server
  Duration caches{std::chrono::seconds(60)};  // so long a file system may show what it read before
  Duration look{std::chrono::milliseconds(250)};
  Duration first_word{std::chrono::seconds(10)};
};

// Which signs of life were seen of a holder that is elsewhere. Signs from before `caches` do not count: they
// may be old, and come late.
struct HolderLife {
  std::optional<std::string> at_first{};  // once the caches are known to be new
  std::string now{};
};

enum class LockVerdict {
  kWait,
  kIsInUse,  // another process works with it: 82
  kMayPass,  // its holder may be gone: 84
};
// Pure.
[[nodiscard]] LockVerdict judge_held_lock(bool is_on_this_machine, Duration waited,
                                          const LockPatience& patience, const HolderLife& life);

// Of an open file of a lock that this process has taken: says that it was taken on this machine. What does
// not work costs a later process its time only.
void note_holder(int fd, const std::string& boot_id);
// Whether the lock in this open file was taken last on the machine with this boot_id.
[[nodiscard]] bool was_taken_here(int fd, const std::string& boot_id);
// The same of this machine.
void note_holder(int fd);
[[nodiscard]] bool was_taken_here(int fd);

// The error of a lock that is held.
[[nodiscard]] Error held_lock_error(int fd, const std::string& what);
// And that of one whose holder did not show that it lives.
[[nodiscard]] Error may_pass(const Error& held, Duration waited);

struct LockWaiting {
  LockPatience patience{};
  // False: this process is told to leave, and waits no longer.
  std::function<bool()> goes_on = [] { return true; };
};

// `life()` gives a text that changes while the holder works; where it is not known, always the same.
// kCancelled: `goes_on` said so.
template <class Take, class Life>
auto take_when_free(const Take& take, const Life& life, const LockWaiting& how, const Clock& clock) {
  const Timestamp began = clock.now();
  bool has_said = false;
  HolderLife seen;
  for (;;) {
    auto taken = take();
    if (taken) return taken;
    const Error held = taken.error();
    const bool is_here = held.kind() == ErrorKind::kAlreadyExists;
    if (!is_here && held.kind() != ErrorKind::kConflict) return taken;
    const Duration waited = clock.now() - began;
    if (!is_here && !seen.at_first && waited >= how.patience.caches) seen.at_first = life();
    if (!is_here && waited >= how.patience.lease) seen.now = life();
    const LockVerdict verdict = judge_held_lock(is_here, waited, how.patience, seen);
    if (verdict == LockVerdict::kIsInUse)
      return decltype(taken)(Error(ErrorKind::kAlreadyExists, held.message()));
    if (verdict == LockVerdict::kMayPass) return decltype(taken)(may_pass(held, waited));
    if (!how.goes_on())
      return decltype(taken)(Error(ErrorKind::kCancelled, "told to leave, while " + held.message()));
    if (!has_said && waited >= how.patience.first_word) {
      say(held.message() + "; this process waits for that lock");
      has_said = true;
    }
    static_cast<void>(pause_for(how.patience.look, std::stop_token()));
  }
}

}  // namespace ratoon::session
