#include "agent/src/torch/collectives/group_connector.h"

#include <csignal>

#include <c10/util/Exception.h>

#include "agent/src/board/served_board.h"
#include "agent/src/session/telemetry/say.h"
#include "agent/src/torch/collectives/board_store.h"
#include "agent/src/torch/collectives/gloo.h"

namespace ratoon {
namespace {

template <class T>
T value_or_throw(Result<T> result) {
  TORCH_CHECK_WITH(DistBackendError, result.has_value(), result.error().message());
  return std::move(*result);
}

void check(const Result<void>& result) {
  TORCH_CHECK_WITH(DistBackendError, result.has_value(), result.error().message());
}

// Ignores the signal SIGPIPE, unless the program has a handler for it. Gloo writes to its connections without
// MSG_NOSIGNAL. If the other process has ended, such a write must return an error and not end this process.
void ignore_broken_pipes() {
  struct sigaction now{};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == SIG_DFL)
    std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

GroupConnector::GroupConnector(Plan plan) : plan_(std::move(plan)) {
  ignore_broken_pipes();
  thread_ = std::thread([this] {
    try {
      connect_ranks();
    } catch (...) {
      error_ = std::current_exception();
    }
    is_done_ = true;
  });
}

GroupConnector::~GroupConnector() {
  thread_.join();
}

void GroupConnector::connect_ranks() {
  if (plan_.rank == 0) {
    const board::ServedAttempt served_attempt{
        .attempt = plan_.attempt, .world_size = plan_.world_size, .secret = plan_.rendezvous.secret};
    check(board::serve_board(plan_.rendezvous.port, plan_.rendezvous.listening_fd, served_attempt,
                             session::say));
  }
  const board::Client::Plan way{.host = plan_.rendezvous.host,
                                .port = plan_.rendezvous.port,
                                .attempt = plan_.attempt,
                                .rank = plan_.rank,
                                .secret = plan_.rendezvous.secret,
                                .is_given_up = is_given_up_};
  board::Client client(way);
  std::vector<std::string> keys;
  for (std::uint32_t rank = 0; rank < plan_.world_size; ++rank) keys.push_back(board::rank_mark_key(rank));
  // Requests to the board have no timeout, because ranks may send their requests at very different times. The
  // board (the store through which ranks find each other) replies only after rank 0, which serves it, has
  // started. If a rank never connects, this rank waits until the coordinator starts another attempt.
  value_or_throw(client.send_request(board::Op::kMark, {plan_.fingerprint}, board::Client::kNoDeadline));
  fingerprints_ = value_or_throw(client.send_request(board::Op::kGet, keys, board::Client::kNoDeadline));
  group_ = connect_with_gloo(c10::make_intrusive<BoardStore>(way, plan_.store_timeout),
                             static_cast<int>(plan_.rank), static_cast<int>(plan_.world_size),
                             plan_.rendezvous.own_host, plan_.connect_timeout);
}

}  // namespace ratoon
