#include "tests/support/nccl_stand_in/connect_ranks.h"

#include <cerrno>
#include <cstring>
#include <list>
#include <optional>
#include <span>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ratoon::test::nccl_stand_in {
namespace {

struct Hello {  // the first bytes on each connection
  Secret secret{};
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  Place place;
};

struct Caller {
  UniqueFd socket;
  Hello hello{};
  std::size_t received = 0;
};

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return {reinterpret_cast<std::byte*>(&value), sizeof value};
}

class Connecting {
 public:
  Connecting(const WorldPlan& plan, Listener listener, const AbortSignal& signal)
      : plan_(plan), listener_(std::move(listener)), signal_(signal) {
    made_.sockets.resize(plan.size);
    made_.places.resize(plan.size);
    made_.places[plan.rank] = {.process = ::getpid(), .device = plan.device, .port = listener_.port};
  }

  Connected run() {
    const bool is_connected = plan_.rank == 0 ? accept_from_rank(1) && send_places()
                                              : call(0, plan_.id.port) && receive_places() &&
                                                    call_lower_ranks() && accept_from_rank(plan_.rank + 1);
    if (is_connected) static_cast<void>(meet_all());
    return std::move(made_);
  }

 private:
  bool fail(Outcome outcome, std::string problem) {
    made_.outcome = outcome;
    made_.problem = std::move(problem);
    return false;
  }

  bool exchange_with(std::uint32_t rank, std::span<const std::byte> to_send,
                     std::span<std::byte> to_receive) {
    const Exchanged done = exchange({{made_.sockets[rank].get(), to_send, to_receive}}, signal_);
    if (done.outcome == Outcome::kDone) return true;
    return fail(done.outcome, "rank " + std::to_string(rank) + " was lost while the ranks connected");
  }

  bool call(std::uint32_t rank, std::uint16_t port) {
    made_.sockets[rank] = connect_on_loopback(port, signal_);
    if (!made_.sockets[rank].is_open())
      return fail(Outcome::kLost, "rank " + std::to_string(rank) + " does not answer");
    Hello hello;
    hello.secret = plan_.id.secret;
    hello.rank = plan_.rank;
    hello.size = plan_.size;
    hello.place = made_.places[plan_.rank];
    return exchange_with(rank, bytes_of(hello), {});
  }

  bool call_lower_ranks() {
    for (std::uint32_t rank = 1; rank < plan_.rank; ++rank)
      if (!call(rank, made_.places[rank].port)) return false;
    return true;
  }

  std::span<std::byte> places() {
    return {reinterpret_cast<std::byte*>(made_.places.data()), made_.places.size() * sizeof(Place)};
  }
  bool receive_places() { return exchange_with(0, {}, places()); }
  bool send_places() {
    for (std::uint32_t rank = 1; rank < plan_.size; ++rank)
      if (!exchange_with(rank, places(), {})) return false;
    return true;
  }

  // Waits for all ranks from this one on to call. Connections of strangers are closed.
  bool accept_from_rank(std::uint32_t first) {
    std::list<Caller> callers;
    for (std::uint32_t missing = plan_.size - first; missing > 0;) {
      std::vector<pollfd> requests{{.fd = signal_.fd(), .events = POLLIN, .revents = 0},
                                   {.fd = listener_.socket.get(), .events = POLLIN, .revents = 0}};
      for (const Caller& caller : callers)
        requests.push_back({.fd = caller.socket.get(), .events = POLLIN, .revents = 0});
      if (::poll(requests.data(), requests.size(), -1) < 0) continue;
      if (requests[0].revents != 0) return fail(Outcome::kAborted, "the communicator was aborted");
      if (requests[1].revents != 0)
        if (UniqueFd socket = accept_from(listener_); socket.is_open())
          callers.push_back({.socket = std::move(socket)});
      for (auto caller = callers.begin(); caller != callers.end();) {
        if (!listen_to(*caller)) {
          caller = callers.erase(caller);
        } else if (caller->received == sizeof(Hello)) {
          if (!welcome(*caller, first)) return false;
          caller = callers.erase(caller);
          --missing;
        } else {
          ++caller;
        }
      }
    }
    return true;
  }

  // False if the caller has ended or is a stranger.
  bool listen_to(Caller& caller) const {
    const auto rest = bytes_of(caller.hello).subspan(caller.received);
    const ssize_t done = ::recv(caller.socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (done < 0) return errno == EAGAIN || errno == EINTR;
    caller.received += static_cast<std::size_t>(done);
    return done > 0 && (caller.received < sizeof(Hello) || caller.hello.secret == plan_.id.secret);
  }

  bool welcome(Caller& caller, std::uint32_t first) {
    const Hello& hello = caller.hello;
    if (hello.size != plan_.size || hello.rank < first || hello.rank >= plan_.size ||
        made_.sockets[hello.rank].is_open())
      return fail(Outcome::kDone, "a process called as rank " + std::to_string(hello.rank) + " of " +
                                      std::to_string(hello.size) + "; expected one of the ranks " +
                                      std::to_string(first) + " to " + std::to_string(plan_.size - 1) +
                                      " of " + std::to_string(plan_.size) + ", each once");
    made_.sockets[hello.rank] = std::move(caller.socket);
    made_.places[hello.rank] = hello.place;
    return true;
  }

  // After this message each rank knows that all are connected.
  bool meet_all() {
    std::vector<std::byte> words(plan_.size);
    const std::byte word{1};
    std::vector<Lane> lanes;
    for (std::uint32_t rank = 0; rank < plan_.size; ++rank)
      if (rank != plan_.rank)
        lanes.push_back({made_.sockets[rank].get(), std::span(&word, 1), std::span(words).subspan(rank, 1)});
    const Exchanged done = exchange(std::move(lanes), signal_);
    return done.outcome == Outcome::kDone || fail(done.outcome, "a rank was lost while the ranks connected");
  }

  const WorldPlan plan_;
  const Listener listener_;
  const AbortSignal& signal_;
  Connected made_;
};

}  // namespace

Connected connect_ranks(const WorldPlan& plan, Listener listener, const AbortSignal& signal) {
  if (plan.rank != 0) listener = listen_on_loopback();
  return Connecting(plan, std::move(listener), signal).run();
}

}  // namespace ratoon::test::nccl_stand_in
