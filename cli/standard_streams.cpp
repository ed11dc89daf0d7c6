#include "cli/standard_streams.h"

#include <cerrno>
#include <cstdio>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

namespace ratoon::cli {

void open_standard_streams() {
  // Opens /dev/null for reading only, so that a command whose standard output is closed gets an error when it
  // writes, and reports this error.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) static_cast<void>(::open("/dev/null", O_RDONLY));
}

Result<void> flush_output() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return {};
  return Error(
      ErrorKind::kIo,
      "standard output could not be written whole (the disk is full, or the output is closed): free space "
      "or redirect the output elsewhere, and run the command again");
}

}  // namespace ratoon::cli
