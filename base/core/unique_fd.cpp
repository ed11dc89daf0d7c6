#include "base/core/unique_fd.h"

#include <cerrno>

#include <unistd.h>

namespace ratoon {

void UniqueFd::reset(int fd) {
  const int old = std::exchange(fd_, fd);
  if (old >= 0 && old != fd) ::close(old);
}

Result<void> UniqueFd::close() {
  const int fd = release();
  if (fd < 0) return {};
  if (::close(fd) != 0 && errno != EINTR) return system_error(errno, "close");
  return {};
}

}  // namespace ratoon
