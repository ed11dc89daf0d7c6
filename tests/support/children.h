// Waiting for processes to end, without polling.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/unique_fd.h"

namespace ratoon::test {

// Blocks until one of our children has ended and leaves it for its owner to reap; returns false if we have no
// child.
inline bool wait_for_a_child() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0;
}

// Whether a process, not necessarily our child, lives for this time.
inline bool lives_on(pid_t pid, int milliseconds) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.is_open()) return false;
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, milliseconds) == 0;
}

}  // namespace ratoon::test
