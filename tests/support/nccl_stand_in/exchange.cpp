#include "tests/support/nccl_stand_in/exchange.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ratoon::test::nccl_stand_in {
namespace {

bool is_complete(const Lane& lane) {
  return lane.to_send.empty() && lane.to_receive.empty();
}

bool is_for_later(ssize_t done) {
  return done < 0 && (errno == EAGAIN || errno == EINTR);
}

// Moves all bytes that can be moved now; false if the rank at the other end is lost.
bool move_bytes(Lane& lane) {
  if (!lane.to_send.empty()) {
    const ssize_t done =
        ::send(lane.socket, lane.to_send.data(), lane.to_send.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && !is_for_later(done)) return false;
    if (done > 0) lane.to_send = lane.to_send.subspan(static_cast<std::size_t>(done));
  }
  if (!lane.to_receive.empty()) {
    const ssize_t done = ::recv(lane.socket, lane.to_receive.data(), lane.to_receive.size(), MSG_DONTWAIT);
    if (done == 0 || (done < 0 && !is_for_later(done))) return false;
    if (done > 0) lane.to_receive = lane.to_receive.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

pollfd wish_of(const Lane& lane, EarlyEnd early_end) {
  if (is_complete(lane) && early_end == EarlyEnd::kIsFine) return {.fd = -1, .events = 0, .revents = 0};
  unsigned events = POLLRDHUP;
  if (!lane.to_send.empty()) events |= POLLOUT;
  if (!lane.to_receive.empty()) events |= POLLIN;
  return {.fd = lane.socket, .events = static_cast<short>(events), .revents = 0};
}

}  // namespace

AbortSignal::AbortSignal() : event_(::eventfd(0, EFD_CLOEXEC)) {}

void AbortSignal::raise() const {
  const std::uint64_t one = 1;
  static_cast<void>(::write(event_.get(), &one, sizeof one));
}

Exchanged exchange(std::vector<Lane> lanes, const AbortSignal& signal, EarlyEnd early_end) {
  while (true) {
    for (std::size_t at = 0; at < lanes.size(); ++at)
      if (!move_bytes(lanes[at])) return {Outcome::kLost, at};
    if (std::all_of(lanes.begin(), lanes.end(), is_complete)) return {};

    std::vector<pollfd> requests{{.fd = signal.fd(), .events = POLLIN, .revents = 0}};
    for (const Lane& lane : lanes) requests.push_back(wish_of(lane, early_end));
    if (::poll(requests.data(), requests.size(), -1) < 0) continue;
    if (requests[0].revents != 0) return {Outcome::kAborted};
    // A rank that sent all bytes that we await, and then ended, may not have sent the other ranks' bytes.
    for (std::size_t at = 0; at < lanes.size(); ++at) {
      const auto events = static_cast<unsigned>(requests[at + 1].revents);
      if (is_complete(lanes[at]) && (events & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
        return {Outcome::kLost, at};
    }
  }
}

}  // namespace ratoon::test::nccl_stand_in
