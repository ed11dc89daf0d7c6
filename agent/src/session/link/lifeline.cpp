#include "agent/src/session/link/lifeline.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

namespace ratoon::session {

Result<void> take_lifeline(int fd) {
  struct stat facts{};
  if (fd < 0) return {};
  if (::fstat(fd, &facts) != 0 && errno != EBADF) return system_error(errno, "checking the lifeline");
  if (!S_ISFIFO(facts.st_mode)) {
    return Error(ErrorKind::kInvalid,
                 "descriptor " + std::to_string(fd) +
                     " is not the runner's lifeline (a pipe): the program that starts this process must pass "
                     "on its open descriptors (in Python: close_fds=False), or exec this process directly");
  }
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return system_error(errno, "keeping the lifeline");
  return {};
}

}  // namespace ratoon::session
