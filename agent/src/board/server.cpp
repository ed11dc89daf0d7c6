#include "agent/src/board/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/src/board/connections.h"
#include "base/core/threads/start_thread.h"

namespace ratoon::board {
namespace {

// Returns the timeout for epoll, rounded up, so that epoll does not return before the time `then`.
int epoll_timeout_until(const std::optional<Timestamp>& then, Timestamp now) {
  if (!then) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*then - now);
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

Result<void> add_to_epoll(int events, int fd, std::uint64_t id) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
  if (::epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return system_error(errno, "watching a socket of rank 0's key-value store");
}

constexpr std::size_t kOtherOpenFiles = 1024;  // of the program, in addition to the connections of ranks

// Many systems allow a process 1,024 open files by default, and more after a call of setrlimit().
void raise_open_file_limit(std::size_t files) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= files) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, files);
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(int listening_fd, ReportFunction tell) {
  UniqueFd listening(::fcntl(listening_fd, F_DUPFD_CLOEXEC, 0));
  if (!listening.is_open() || ::fcntl(listening.get(), F_SETFL, O_NONBLOCK) != 0)
    return system_error(errno, "preparing the listening socket of rank 0's key-value store");
  UniqueFd wakeup(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd events(::epoll_create1(EPOLL_CLOEXEC));
  if (!wakeup.is_open() || !events.is_open()) return system_error(errno, "creating rank 0's key-value store");
  for (const auto& [fd, id] : {std::pair(listening.get(), Connections::kListeningId),
                               std::pair(wakeup.get(), Connections::kWakeupId)}) {
    if (auto watched = add_to_epoll(events.get(), fd, id); !watched) return watched.error();
  }
  return std::unique_ptr<Server>(
      new Server(std::move(listening), std::move(wakeup), std::move(events), std::move(tell)));
}

Server::Server(UniqueFd listening, UniqueFd wakeup, UniqueFd events, ReportFunction tell)
    : listening_fd_(std::move(listening)),
      wakeup_fd_(std::move(wakeup)),
      epoll_fd_(std::move(events)),
      report_(std::move(tell)) {
  thread_ = start_thread_without_signals([this] { run(); });
}

Server::~Server() {
  is_ending_ = true;
  wake();
  thread_.join();
}

void Server::begin_attempt(const ServedAttempt& served_attempt) {
  raise_open_file_limit(open_files_needed_for(served_attempt.world_size, kOtherOpenFiles));
  {
    const MutexLock lock(mutex_);
    if (served_attempt.attempt > served_attempt_.attempt) served_attempt_ = served_attempt;
  }
  wake();
}

ServedAttempt Server::newest_attempt() {
  const MutexLock lock(mutex_);
  return served_attempt_;
}

void Server::wake() const {
  const std::uint64_t one = 1;
  // The write fails only if the eventfd's counter is full, and a full counter also wakes the thread.
  [[maybe_unused]] const auto written = ::write(wakeup_fd_.get(), &one, sizeof one);
}

void Server::run() {
  Connections connections(epoll_fd_.get(), listening_fd_.get(), clock_, {}, report_);
  std::array<epoll_event, 64> ready{};
  while (!is_ending_) {
    connections.begin_attempt(newest_attempt());
    const int pause = epoll_timeout_until(connections.handle_timeouts(), clock_.now());
    const int count = ::epoll_wait(epoll_fd_.get(), ready.data(), static_cast<int>(ready.size()), pause);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = ready[static_cast<std::size_t>(i)].data.u64;
      if (id == Connections::kWakeupId) {
        std::uint64_t times = 0;
        [[maybe_unused]] const auto read = ::read(wakeup_fd_.get(), &times, sizeof times);
      } else if (id == Connections::kListeningId) {
        connections.accept_all();
      } else {
        connections.continue_io(id);
      }
    }
  }
}

}  // namespace ratoon::board
