#include "tests/support/disk_watch.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <mutex>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ratoon::test {
namespace {

struct Notes {
  std::mutex mutex;
  bool is_watching = false;
  DiskFaults faults;
  std::vector<std::string> calls;
};

Notes& notes() {
  static Notes kept;
  return kept;
}

std::string name_of(const char* path) {
  return std::filesystem::path(path).filename().string();
}

void note(const std::string& call) {
  const std::scoped_lock guard(notes().mutex);
  if (notes().is_watching) notes().calls.push_back(call);
}

// After this number of calls no further call happens, as after a kill -9 at this point.
void maybe_die() {
  const std::scoped_lock guard(notes().mutex);
  const int calls = notes().faults.dies_at_call;
  if (notes().is_watching && calls != 0 && notes().calls.size() + 1 >= static_cast<std::size_t>(calls))
    ::kill(::getpid(), SIGKILL);
}

int note_names(const char* doing, const char* from, const char* to, long result) {
  if (result == 0) note(doing + (" " + name_of(from)) + " to " + name_of(to));
  return static_cast<int>(result);
}

// And sets errno.
bool fails(int DiskFaults::* kind) {
  const std::scoped_lock guard(notes().mutex);
  if (!notes().is_watching || notes().faults.*kind == 0) return false;
  errno = notes().faults.*kind;
  return true;
}

int sync(int fd) {
  maybe_die();
  struct stat facts{};
  std::error_code code;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), code);
  const bool is_file = ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
  note("sync " + path.filename().string() +
       (is_file ? ", " + std::to_string(facts.st_size) + " bytes" : std::string()));
  if (is_file && fails(&DiskFaults::syncs)) return -1;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

}  // namespace

DiskWatch::DiskWatch(DiskFaults faults) {
  const std::scoped_lock guard(notes().mutex);
  notes().is_watching = true;
  notes().faults = faults;
  notes().calls.clear();
}

DiskWatch::~DiskWatch() {
  const std::scoped_lock guard(notes().mutex);
  notes().is_watching = false;
}

std::vector<std::string> DiskWatch::calls() const {
  const std::scoped_lock guard(notes().mutex);
  return notes().calls;
}

}  // namespace ratoon::test

using ratoon::test::DiskFaults;
using ratoon::test::note_names;

extern "C" {

int fsync(int fd) {
  return ratoon::test::sync(fd);
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  if (ratoon::test::fails(&DiskFaults::allocations)) return -1;
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, size));
}

int rename(const char* from, const char* to) noexcept {
  ratoon::test::maybe_die();
  return note_names("rename", from, to, ::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  ratoon::test::maybe_die();
  return note_names("rename", from, to, ::syscall(SYS_renameat2, from_folder, from, to_folder, to, 0));
}

int link(const char* from, const char* to) noexcept {
  ratoon::test::maybe_die();
  return note_names("link", from, to, ::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}

}  // extern "C"
