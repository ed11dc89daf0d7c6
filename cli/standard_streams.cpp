#include "cli/standard_streams.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace ratoon::cli {

void open_standard_streams() {
  // Opens /dev/null for reading only, so that a command whose standard output is closed gets an error when it
  // writes, and reports this error.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) static_cast<void>(::open("/dev/null", O_RDONLY));
}

}  // namespace ratoon::cli
