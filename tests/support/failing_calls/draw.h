// The draw of a test: which call of the C library fails in this process, in a file that both map.
//
//   TEST_FAILING_CALLS=page LD_PRELOAD=libfailing_calls.so trainer ...
//
// Before the test starts the process, it writes the draw into the page: the number of the call, the first
// failing time, how many times fail, and the error. The library writes how often each call was made and how
// often it failed. A process that this process starts has no draw.
#pragma once

#include <atomic>
#include <cstdint>

namespace ratoon::test::failing {

enum class Call : std::uint32_t {
  kOpenToRead,
  kOpenToWrite,
  kOpenStream,
  kMakeFolder,
  kRename,
  kUnlink,
  kLink,
  kSync,
  kWriteFile,
  kWriteChannel,  // a socket, a pipe, an eventfd
  kWriteOutput,   // standard output or standard error
  kReadFile,
  kReadChannel,
  kClose,
  kResize,
  kAllocate,
  kLook,  // the stat family
  kOpenFolder,
  kReadFolder,
  kLock,
  kReadLink,
  kSocket,
  kBind,
  kConnect,
  kAccept,
  kSend,
  kReceive,
  kPoll,
  kDescriptors,  // pipe, eventfd, epoll_create, timerfd_create
  kDuplicate,
  kFork,
  kThread,
  kMap,
  kRandom,
  kCalls,
};

struct Count {
  char name[24];
  std::atomic<std::uint32_t> calls;
  std::uint32_t unused;
};

struct Page {
  std::uint32_t call;
  std::uint32_t first;  // counted from 1
  std::uint32_t times;  // 0: none fails
  std::int32_t error;
  std::atomic<std::uint32_t> failed;
  std::uint32_t process;  // 0, or the one that has the page
  std::uint32_t calls;    // how many counts follow
  std::uint32_t unused;
  Count counts[static_cast<std::uint32_t>(Call::kCalls)];
};

// For a test that is linked with the library: the next calls of this kind fail in this process, this number
// of times.
class Fault {
 public:
  static constexpr std::uint32_t kForGood = 0xffffffff;
  Fault(Call call, int error, std::uint32_t times = kForGood);
  ~Fault();
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

  [[nodiscard]] std::uint32_t failed() const;
};

// Counts the call. Returns whether the call fails now, and sets errno.
bool fails(Call call);

enum class Kind { kFile, kChannel, kOutput };
Kind kind_of(int fd);

// The function of that name in the library behind this library.
void* find_next(const char* name);

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(find_next(name));
}

}  // namespace ratoon::test::failing
