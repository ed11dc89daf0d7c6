// HeldFile: a file that no process can open, as on a disk that hangs: the call stays in the kernel until the
// file is released. The file is held by a lease, which needs no rights; the kernel breaks the lease after
// /proc/sys/fs/lease-break-time (45 s).
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/core/unique_fd.h"

namespace ratoon::test {

class HeldFile {
 public:
  // The file is created if it is missing. No process has the file open.
  explicit HeldFile(const std::filesystem::path& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    struct sigaction rings{};
    rings.sa_handler = [](int) { static_cast<void>(::eventfd_write(bell(), 1)); };
    rings.sa_flags = SA_RESTART;
    static_cast<void>(bell());
    // By SIGIO the kernel reports that a process wants to open the file.
    if (::sigaction(SIGIO, &rings, nullptr) != 0 || ::fcntl(file_.get(), F_SETLEASE, F_WRLCK) != 0)
      throw std::runtime_error("no lease on " + path.string());
  }
  ~HeldFile() { let_go(); }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  void await_somebody() const {
    std::uint64_t rung = 0;
    while (::fcntl(file_.get(), F_GETLEASE) == F_WRLCK) static_cast<void>(::eventfd_read(bell(), &rung));
  }
  void let_go() { static_cast<void>(::fcntl(file_.get(), F_SETLEASE, F_UNLCK)); }

 private:
  static int bell() {
    static const int fd = ::eventfd(0, EFD_CLOEXEC);
    return fd;
  }

  UniqueFd file_;
};

}  // namespace ratoon::test
