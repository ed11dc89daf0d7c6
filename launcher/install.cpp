#include "launcher/install.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/unique_fd.h"

namespace ratoon::launcher {

Result<void> install_to(const std::string& path) {
  constexpr std::size_t kPieceBytes = 1 << 20;
  const std::string fresh = path + ".new";
  const auto failed = [&](const std::string& what) { return system_error(errno, what); };
  const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!self.is_open()) return failed("opening this program (/proc/self/exe)");
  {
    const UniqueFd copy(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
    if (!copy.is_open()) return failed("creating " + fresh);
    while (true) {
      const ssize_t count = ::sendfile(copy.get(), self.get(), nullptr, kPieceBytes);
      if (count == 0) break;
      if (count < 0 && errno != EINTR) return failed("copying this program to " + fresh);
    }
    if (::fchmod(copy.get(), 0755) != 0) return failed("making " + fresh + " executable");
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return failed("renaming " + fresh + " to " + path);
  return {};
}

}  // namespace ratoon::launcher
