#include "agent/src/session/rendezvous/peer_probe.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>

#include "agent/src/board/ip_address.h"
#include "agent/src/session/rendezvous/rendezvous_socket.h"
#include "base/core/unique_fd.h"

namespace ratoon::session {
namespace {

constexpr std::chrono::milliseconds kProbePollInterval(
    50);  // the interval of checks whether a stop is requested

struct ProbeAttempt {
  std::string_view uid;
  UniqueFd fd{};  // of a connection in progress
  bool has_failed = false;
};

// Returns whether the cause of a connect() error is the network or the peer, and not this machine.
bool is_network_error(int problem) {
  switch (problem) {
    case ECONNREFUSED:  // also the answer of a firewall that rejects
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case ETIMEDOUT:
    case EACCES:  // a firewall of this machine
    case EPERM:
      return true;
    default:
      return false;
  }
}

// Closes the connection with a TCP reset, so that the peer's accept queue drops it at once.
void close_with_reset(UniqueFd& fd) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  static_cast<void>(::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
  fd.reset();
}

void finish_probe(ProbeAttempt& each, int problem) {
  each.has_failed = is_network_error(problem);
  close_with_reset(each.fd);
}

ProbeAttempt start_probe(const PeerAddress& peer) {
  ProbeAttempt each{.uid = peer.member_uid};
  const HostPort at = split_address(peer.address);
  const auto address = board::read_ip(at.host, at.port);
  if (!address || at.port == 0) return each;
  each.fd = UniqueFd(::socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!each.fd.is_open()) return each;
  const int problem = ::connect(each.fd.get(), address->get(), address->size) == 0 ? 0 : errno;
  if (problem != EINPROGRESS) finish_probe(each, problem);
  return each;
}

// Waits at most `at_most` for results, and closes the connection attempts that have a result.
void poll_probes(std::vector<ProbeAttempt>& tries, std::chrono::milliseconds at_most) {
  std::vector<pollfd> open;
  for (const ProbeAttempt& each : tries)
    if (each.fd.is_open()) open.push_back({.fd = each.fd.get(), .events = POLLOUT, .revents = 0});
  if (::poll(open.data(), open.size(), static_cast<int>(at_most.count())) <= 0) return;
  for (ProbeAttempt& each : tries) {
    const auto polled = std::ranges::find(open, each.fd.get(), &pollfd::fd);
    if (polled == open.end() || polled->revents == 0) continue;
    int problem = 0;
    socklen_t size = sizeof problem;
    if (::getsockopt(each.fd.get(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0) problem = errno;
    finish_probe(each, problem);
  }
}

bool is_open(const ProbeAttempt& each) {
  return each.fd.is_open();
}

}  // namespace

std::vector<std::string> probe_peers(const std::vector<PeerAddress>& peers, Duration patience,
                                     const std::stop_token& stop) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::vector<ProbeAttempt> tries;
  for (const PeerAddress& peer : peers) tries.push_back(start_probe(peer));
  while (std::ranges::any_of(tries, is_open) && !stop.stop_requested()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<std::chrono::steady_clock::duration>(
            deadline - std::chrono::steady_clock::now(), kProbePollInterval));
    if (left <= std::chrono::milliseconds::zero()) break;
    poll_probes(tries, left);
  }
  std::vector<std::string> unreachable;
  if (stop.stop_requested()) return unreachable;
  for (ProbeAttempt& each : tries)
    if (each.has_failed || is_open(each)) unreachable.emplace_back(each.uid);
  return unreachable;
}

}  // namespace ratoon::session
