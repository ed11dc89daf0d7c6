#include "base/core/streams/standard_output.h"

#include <cstdio>

namespace ratoon {

Result<void> flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return Error(
      ErrorKind::kIo,
      "standard output could not be written whole (the disk is full, or the output is closed): free space "
      "or redirect the output elsewhere, and run the command again");
}

}  // namespace ratoon
