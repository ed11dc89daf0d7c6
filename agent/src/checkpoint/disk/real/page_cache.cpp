#include "agent/src/checkpoint/disk/real/page_cache.h"

#include <algorithm>

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace ratoon::checkpoint {
namespace {

// The system call number of cachestat() is the same on every processor; older kernel headers lack it.
constexpr long kCachestatSyscall = 451;
constexpr std::uint64_t kPageBytes = 4096;

struct CachestatRange {
  std::uint64_t at;
  std::uint64_t bytes;
};
struct Cachestat {
  std::uint64_t cached;  // in pages, as all fields
  std::uint64_t dirty;
  std::uint64_t under_writeback;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

}  // namespace

std::optional<bool> is_in_page_cache(int fd, std::uint64_t at, std::uint64_t bytes) {
  static const std::uint64_t page_bytes =
      std::max<std::uint64_t>(kPageBytes, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  if (bytes == 0) return true;
  CachestatRange range{.at = at, .bytes = bytes};
  Cachestat found{};
  if (::syscall(kCachestatSyscall, fd, &range, &found, 0U) != 0) return std::nullopt;
  const std::uint64_t pages = (at + bytes - 1) / page_bytes - at / page_bytes + 1;
  return found.cached >= pages;
}

std::uint64_t read_cached_bytes(int fd, std::uint64_t at, std::span<std::byte> bytes) {
  std::uint64_t done = 0;
  while (done < bytes.size()) {
    iovec into{.iov_base = bytes.data() + done, .iov_len = bytes.size() - done};
    const ssize_t got = ::preadv2(fd, &into, 1, static_cast<off_t>(at + done), RWF_NOWAIT);
    if (got <= 0) return done;
    done += static_cast<std::uint64_t>(got);
  }
  return done;
}

}  // namespace ratoon::checkpoint
