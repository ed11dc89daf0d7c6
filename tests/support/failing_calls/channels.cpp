// Calls that communicate with other processes, or start them.
#include <cerrno>
#include <csignal>

#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/support/failing_calls/draw.h"

using ratoon::test::failing::Call;
using ratoon::test::failing::fails;
using ratoon::test::failing::next;

namespace {

bool fails_to_send(int flags) {
  if (!fails(Call::kSend)) return false;
  if (errno == EPIPE && (flags & MSG_NOSIGNAL) == 0) {
    ::raise(SIGPIPE);
    errno = EPIPE;
  }
  return true;
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  static auto* const real = next<int(int, int, int)>("socket");
  return fails(Call::kSocket) ? -1 : real(domain, type, protocol);
}

int bind(int fd, const struct sockaddr* address, socklen_t size) noexcept {
  static auto* const real = next<int(int, const struct sockaddr*, socklen_t)>("bind");
  return fails(Call::kBind) ? -1 : real(fd, address, size);
}

int listen(int fd, int waiting) noexcept {
  static auto* const real = next<int(int, int)>("listen");
  return fails(Call::kBind) ? -1 : real(fd, waiting);
}

int connect(int fd, const struct sockaddr* address, socklen_t size) {
  static auto* const real = next<int(int, const struct sockaddr*, socklen_t)>("connect");
  return fails(Call::kConnect) ? -1 : real(fd, address, size);
}

int accept(int fd, struct sockaddr* address, socklen_t* size) {
  static auto* const real = next<int(int, struct sockaddr*, socklen_t*)>("accept");
  return fails(Call::kAccept) ? -1 : real(fd, address, size);
}

int accept4(int fd, struct sockaddr* address, socklen_t* size, int flags) {
  static auto* const real = next<int(int, struct sockaddr*, socklen_t*, int)>("accept4");
  return fails(Call::kAccept) ? -1 : real(fd, address, size, flags);
}

ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  static auto* const real = next<ssize_t(int, const void*, size_t, int)>("send");
  return fails_to_send(flags) ? -1 : real(fd, bytes, size, flags);
}

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  static auto* const real = next<ssize_t(int, const struct msghdr*, int)>("sendmsg");
  return fails_to_send(flags) ? -1 : real(fd, message, flags);
}

ssize_t recv(int fd, void* into, size_t size, int flags) {
  static auto* const real = next<ssize_t(int, void*, size_t, int)>("recv");
  return fails(Call::kReceive) ? -1 : real(fd, into, size, flags);
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  static auto* const real = next<ssize_t(int, struct msghdr*, int)>("recvmsg");
  return fails(Call::kReceive) ? -1 : real(fd, message, flags);
}

int poll(struct pollfd* what, nfds_t count, int milliseconds) {
  static auto* const real = next<int(struct pollfd*, nfds_t, int)>("poll");
  return fails(Call::kPoll) ? -1 : real(what, count, milliseconds);
}

int ppoll(struct pollfd* what, nfds_t count, const struct timespec* time, const sigset_t* signals) {
  static auto* const real =
      next<int(struct pollfd*, nfds_t, const struct timespec*, const sigset_t*)>("ppoll");
  return fails(Call::kPoll) ? -1 : real(what, count, time, signals);
}

int epoll_wait(int fd, struct epoll_event* events, int room, int milliseconds) {
  static auto* const real = next<int(int, struct epoll_event*, int, int)>("epoll_wait");
  return fails(Call::kPoll) ? -1 : real(fd, events, room, milliseconds);
}

int pipe(int ends[2]) noexcept {
  static auto* const real = next<int(int*)>("pipe");
  return fails(Call::kDescriptors) ? -1 : real(ends);
}

int pipe2(int ends[2], int flags) noexcept {
  static auto* const real = next<int(int*, int)>("pipe2");
  return fails(Call::kDescriptors) ? -1 : real(ends, flags);
}

int eventfd(unsigned value, int flags) noexcept {
  static auto* const real = next<int(unsigned, int)>("eventfd");
  return fails(Call::kDescriptors) ? -1 : real(value, flags);
}

int epoll_create(int size) noexcept {
  static auto* const real = next<int(int)>("epoll_create");
  return fails(Call::kDescriptors) ? -1 : real(size);
}

int epoll_create1(int flags) noexcept {
  static auto* const real = next<int(int)>("epoll_create1");
  return fails(Call::kDescriptors) ? -1 : real(flags);
}

int timerfd_create(clockid_t clock, int flags) noexcept {
  static auto* const real = next<int(clockid_t, int)>("timerfd_create");
  return fails(Call::kDescriptors) ? -1 : real(clock, flags);
}

int dup(int fd) noexcept {
  static auto* const real = next<int(int)>("dup");
  return fails(Call::kDuplicate) ? -1 : real(fd);
}

pid_t fork() noexcept {
  static auto* const real = next<pid_t()>("fork");
  return fails(Call::kFork) ? -1 : real();
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  static auto* const real = next<int(pid_t*, const char*, const posix_spawn_file_actions_t*,
                                     const posix_spawnattr_t*, char* const*, char* const*)>("posix_spawn");
  return fails(Call::kFork) ? errno : real(pid, path, actions, attributes, words, environment);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  static auto* const real =
      next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails(Call::kThread) ? errno : real(thread, attributes, run, argument);
}

ssize_t getrandom(void* into, size_t size, unsigned flags) {
  static auto* const real = next<ssize_t(void*, size_t, unsigned)>("getrandom");
  return fails(Call::kRandom) ? -1 : real(into, size, flags);
}

}  // extern "C"
