#include "operator/local/control/control_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace ratoon::local {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSocketFileName = "control";
constexpr std::size_t kConnectionsMax = 16;
constexpr mode_t kSocketMode = 0600;

// A Unix socket's path is limited to 107 bytes, and a run's folder may have a longer path. The socket
// therefore gets a short address that goes through the folder's descriptor (/proc/self/fd).
sockaddr_un socket_address_in(int folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(folder) + "/" + kSocketFileName;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

const sockaddr* as_sockaddr(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

UniqueFd open_folder(const fs::path& folder) {
  return UniqueFd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd open_socket(int flags) {
  return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

bool add_to_epoll(int waiting, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return ::epoll_ctl(waiting, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool is_same_user(int asker) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(asker, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

}  // namespace

Result<ControlSocket> ControlSocket::open(const fs::path& folder, DiskWriter& disk) {
  UniqueFd at = open_folder(folder);
  if (!at.is_open()) return system_error(errno, "opening " + folder.string());
  if (::unlinkat(at.get(), kSocketFileName, 0) != 0 && errno != ENOENT)
    return system_error(errno, "removing " + (folder / kSocketFileName).string());
  UniqueFd listener = open_socket(SOCK_NONBLOCK);
  UniqueFd waiting(::epoll_create1(EPOLL_CLOEXEC));
  const sockaddr_un address = socket_address_in(at.get());
  // fchmod() before bind() sets the mode of the socket's file from its creation on.
  if (!listener.is_open() || !waiting.is_open() || ::fchmod(listener.get(), kSocketMode) != 0 ||
      ::bind(listener.get(), as_sockaddr(address), sizeof address) != 0 ||
      ::listen(listener.get(), kConnectionsMax) != 0 || !add_to_epoll(waiting.get(), listener.get()))
    return system_error(errno, "opening " + (folder / kSocketFileName).string());
  return ControlSocket(std::move(at), std::move(listener), std::move(waiting), disk);
}

ControlSocket::~ControlSocket() {
  if (!folder_fd_.is_open()) return;
  disk_.add([folder = std::make_shared<UniqueFd>(std::move(folder_fd_))] {
    ::unlinkat(folder->get(), kSocketFileName, 0);
  });
}

void ControlSocket::accept_connections() {
  for (;;) {
    UniqueFd asker(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!asker.is_open()) return;
    if (!is_same_user(asker.get()) || !add_to_epoll(epoll_.get(), asker.get())) continue;
    if (connections_.size() == kConnectionsMax) connections_.erase(connections_.begin());
    connections_.push_back(std::move(asker));
  }
}

std::vector<ControlSocket::PendingRequest> ControlSocket::take_requests() {
  accept_connections();
  std::vector<PendingRequest> all;
  std::erase_if(connections_, [&](UniqueFd& asker) {
    std::array<char, kControlBytesMax> text{};
    const ssize_t size = ::recv(asker.get(), text.data(), text.size(), 0);
    if (size < 0) return errno != EAGAIN && errno != EINTR;
    if (size == 0) return true;
    // Each connection has only one request, so further data must not wake `ratoon run` again.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, asker.get(), nullptr);
    auto request = decode_control_request({text.data(), static_cast<std::size_t>(size)});
    PendingRequest asked{.request = request ? *request : ControlRequest(), .asker = std::move(asker)};
    if (request)
      all.push_back(std::move(asked));
    else
      answer(asked, {.is_done = false, .message = request.error().message()});
    return true;
  });
  return all;
}

void ControlSocket::answer(const PendingRequest& asked, const ControlReply& reply) {
  const std::string text = encode(reply);
  // MSG_NOSIGNAL: sending to a closed connection must not raise SIGPIPE.
  static_cast<void>(::send(asked.asker.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

Result<ControlReply> send_control_request(const fs::path& folder, const ControlRequest& request,
                                          Duration timeout) {
  const Error no_run(ErrorKind::kNotFound, "no `ratoon run` is running in " + folder.string());
  const UniqueFd at = open_folder(folder);
  if (!at.is_open()) return errno == ENOENT ? no_run : system_error(errno, "opening " + folder.string());
  const UniqueFd socket = open_socket(0);
  if (!socket.is_open()) return system_error(errno, "opening a socket");
  const sockaddr_un address = socket_address_in(at.get());
  if (::connect(socket.get(), as_sockaddr(address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return no_run;
    return system_error(errno, "connecting to the run in " + folder.string());
  }
  const std::string text = encode(request);
  if (::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0)
    return system_error(errno, "sending a request to the run in " + folder.string());
  pollfd answered{socket.get(), POLLIN, 0};
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  if (::poll(&answered, 1, static_cast<int>(millis)) == 0)
    return Error(ErrorKind::kTimeout, "the run in " + folder.string() + " does not answer");
  std::array<char, kControlBytesMax> reply{};
  const ssize_t size = ::recv(socket.get(), reply.data(), reply.size(), 0);
  if (size <= 0)
    return Error(ErrorKind::kUnavailable, "the run in " + folder.string() + " ended during the request");
  return decode_control_reply({reply.data(), static_cast<std::size_t>(size)});
}

}  // namespace ratoon::local
