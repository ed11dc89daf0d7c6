#include "tests/support/failing_calls/draw.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ratoon::test::failing {
namespace {

constexpr const char* kNames[] = {
    "open_to_read", "open_to_write", "fopen",       "mkdir",          "rename",    "unlink",     "link",
    "fsync",        "write_file",    "write_other", "write_output",   "read_file", "read_other", "close",
    "ftruncate",    "fallocate",     "stat",        "opendir",        "readdir",   "lock",       "readlink",
    "socket",       "bind",          "connect",     "accept",         "send",      "recv",       "poll",
    "descriptors",  "dup",           "fork",        "pthread_create", "mmap",      "getrandom"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Call::kCalls));

std::atomic<Page*> page_of_process{nullptr};

// Uses calls that no library replaces. Only the process that the test started maps the page.
__attribute__((constructor)) void map_page() {
  const char* const path = std::getenv("TEST_FAILING_CALLS");
  if (path == nullptr) return;
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) std::abort();
  const long address = ::syscall(SYS_mmap, nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED,
                                 static_cast<int>(fd), 0L);
  ::syscall(SYS_close, fd);
  if (address < 0 && address > -4096) std::abort();
  auto* const page = reinterpret_cast<Page*>(address);
  if (page->process != 0) return;
  page->process = static_cast<std::uint32_t>(::getpid());
  page->calls = static_cast<std::uint32_t>(Call::kCalls);
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    std::snprintf(page->counts[i].name, sizeof(page->counts[i].name), "%s", kNames[i]);
  page_of_process = page;
}

}  // namespace

Fault::Fault(Call call, int error, std::uint32_t times) {
  static Page page{};
  page.call = static_cast<std::uint32_t>(call);
  page.first = page.counts[page.call].calls + 1;
  page.times = times;
  page.error = error;
  page.failed = 0;
  page_of_process = &page;
}

Fault::~Fault() {
  page_of_process = nullptr;
}

std::uint32_t Fault::failed() const {
  return page_of_process.load()->failed;
}

bool fails(Call call) {
  Page* const page = page_of_process.load(std::memory_order_relaxed);
  if (page == nullptr) return false;
  const auto number = static_cast<std::uint32_t>(call);
  const std::uint32_t time = page->counts[number].calls.fetch_add(1, std::memory_order_relaxed) + 1;
  if (page->call != number || time < page->first || time - page->first >= page->times) return false;
  page->failed.fetch_add(1, std::memory_order_relaxed);
  errno = page->error;
  return true;
}

Kind kind_of(int fd) {
  if (fd == STDOUT_FILENO || fd == STDERR_FILENO) return Kind::kOutput;
  const int before = errno;
  struct stat facts{};
  const bool is_file = ::syscall(SYS_fstat, fd, &facts) == 0 && S_ISREG(facts.st_mode);
  errno = before;
  return is_file ? Kind::kFile : Kind::kChannel;
}

void* find_next(const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return found;
}

}  // namespace ratoon::test::failing
