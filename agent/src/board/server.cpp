#include "agent/src/board/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/src/board/connections.h"

namespace ratoon::board {
namespace {

// After accept() found no descriptor or memory left, which the next look would find again at once.
constexpr int kPauseMillis = 100;

Result<void> watch(int events, int fd, std::uint64_t id) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
  if (::epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return system_error(errno, "watching a socket of the board where the ranks meet");
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(int listening_fd) {
  UniqueFd listening(::fcntl(listening_fd, F_DUPFD_CLOEXEC, 0));
  if (!listening.is_open() || ::fcntl(listening.get(), F_SETFL, O_NONBLOCK) != 0)
    return system_error(errno, "taking the listening socket where the ranks meet");
  UniqueFd wakeup(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd events(::epoll_create1(EPOLL_CLOEXEC));
  if (!wakeup.is_open() || !events.is_open())
    return system_error(errno, "making the board where the ranks meet");
  for (const auto& [fd, id] :
       {std::pair(listening.get(), Connections::kListening), std::pair(wakeup.get(), Connections::kWakeup)}) {
    if (auto watched = watch(events.get(), fd, id); !watched) return watched.error();
  }
  return std::unique_ptr<Server>(new Server(std::move(listening), std::move(wakeup), std::move(events)));
}

Server::Server(UniqueFd listening, UniqueFd wakeup, UniqueFd events)
    : listening_(std::move(listening)), wakeup_(std::move(wakeup)), events_(std::move(events)) {
  // The program's signals are for its own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Server::~Server() {
  is_ending_ = true;
  wake();
  thread_.join();
}

void Server::begin(std::uint64_t attempt) {
  std::uint64_t before = attempt_;
  while (before < attempt && !attempt_.compare_exchange_weak(before, attempt)) continue;
  wake();
}

void Server::wake() const {
  const std::uint64_t one = 1;
  // It can only fail on a full counter, which wakes too.
  [[maybe_unused]] const auto written = ::write(wakeup_.get(), &one, sizeof one);
}

void Server::run() {
  Connections connections(events_.get(), listening_.get());
  std::uint64_t begun = 0;
  std::array<epoll_event, 64> ready{};
  while (!is_ending_) {
    const int pause = connections.is_accepting() ? -1 : kPauseMillis;
    const int count = ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), pause);
    connections.accept_again();
    if (const std::uint64_t now = attempt_; now != begun) connections.begin(begun = now);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = ready[static_cast<std::size_t>(i)].data.u64;
      if (id == Connections::kWakeup) {
        std::uint64_t times = 0;
        [[maybe_unused]] const auto read = ::read(wakeup_.get(), &times, sizeof times);
      } else if (id == Connections::kListening) {
        connections.accept_all();
      } else {
        connections.go_on(id);
      }
    }
  }
}

}  // namespace ratoon::board
