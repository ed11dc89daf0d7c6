#include "agent/src/board/client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "agent/src/board/handshake.h"
#include "base/contract/names.h"
#include "base/core/clock.h"
#include "base/core/hmac_sha256.h"
#include "base/core/log.h"
#include "base/core/random_name.h"

namespace ratoon::board {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The minimum and maximum time limit of one attempt to connect. The kernel repeats an unanswered SYN only
// after 1, 3 and 7 s. A new attempt to connect succeeds sooner than a repeated SYN when the network becomes
// ready or the accept queue has room.
constexpr milliseconds kTryMin(500);
constexpr milliseconds kTryMax = std::chrono::seconds(5);
constexpr milliseconds kLook(20);  // the interval of checks whether the attempt was abandoned
constexpr int kLooksMax = 16;      // between two attempts to connect
constexpr auto kReportInterval = std::chrono::minutes(1);

// Returns whether another attempt to connect would end with the same error.
bool is_final(ErrorKind kind) {
  return kind == ErrorKind::kCancelled || kind == ErrorKind::kConflict || kind == ErrorKind::kInvalid ||
         kind == ErrorKind::kCorrupted;
}

// If no socket listens at the port, the kernel may choose this port as the client's own port, and so connect
// the socket to itself.
bool is_connected_to_itself(int fd) {
  SocketAddress here;
  SocketAddress there;
  here.size = there.size = sizeof here.bytes;
  return ::getsockname(fd, here.get(), &here.size) == 0 && ::getpeername(fd, there.get(), &there.size) == 0 &&
         here.size == there.size && std::memcmp(here.get(), there.get(), here.size) == 0;
}

}  // namespace

std::string Client::place() const {
  return plan_.host + " port " + std::to_string(plan_.port) + ", where rank 0 of attempt " +
         std::to_string(plan_.attempt) + " serves its key-value store";
}

Result<std::vector<std::string>> Client::ask(Op op, std::vector<std::string> words, Deadline deadline) {
  const Frame request = make_frame(op, plan_.attempt, std::move(words));
  if (request.words.size() > kWordsMax || size_of(request) > kFrameMax) {
    return Error(ErrorKind::kInvalid, "a request to the key-value store of rank 0 has " +
                                          std::to_string(size_of(request)) + " bytes; at most " +
                                          std::to_string(kFrameMax) + " are allowed");
  }
  asked_ = steady_clock::now();
  tell_at_ = asked_ + plan_.tell_after;
  if (!fd_.is_open()) {
    connect_error_ = "no answer has arrived yet";
    if (auto connected = connect(deadline); !connected) return connected.error();
  }
  auto reply = ask_frame(request, deadline);
  if (!reply) return reply.error();
  if (reply->kind == static_cast<std::uint8_t>(Status::kDone)) return std::move(reply->words);
  fd_.reset();
  return Error(ErrorKind::kCorrupted,
               "asking " + place() + ": the answer is of unknown kind " + std::to_string(reply->kind));
}

Result<Frame> Client::ask_frame(const Frame& request, Deadline deadline) {
  auto reply = exchange(request, deadline);
  if (!reply) {
    fd_.reset();  // the answer may still come: nothing else may be asked on this connection
    return reply;
  }
  const std::string why = reply->words.empty() ? "" : reply->words[0];
  if (reply->kind == static_cast<std::uint8_t>(Status::kOver))
    return Error(ErrorKind::kConflict, "asking " + place() + ": attempt " + why + " has begun");
  if (reply->kind == static_cast<std::uint8_t>(Status::kRefused))
    return Error(ErrorKind::kInvalid, "asking " + place() + ": " + why);
  return reply;
}

// Connects to rank 0, and tries again after an error: the network between the machines may not be ready yet,
// or rank 0 may have closed the connection because many ranks connect at once.
Result<void> Client::connect(Deadline deadline) {
  const auto address = read_ip(plan_.host, plan_.port);
  if (!address) {
    return Error(ErrorKind::kInvalid, "the address of rank 0 must be numeric, found '" + plan_.host + "'");
  }
  milliseconds of_try = kTryMin;
  for (int looks = 1;; looks = std::min(2 * looks, kLooksMax)) {
    auto fd = try_to_connect(*address, std::min(deadline, steady_clock::now() + of_try));
    of_try = std::min(2 * of_try, kTryMax);
    auto proven = fd ? Result<void>() : Result<void>(fd.error());
    if (fd) {
      fd_ = std::move(*fd);
      proven = prove(deadline);
      connect_error_.clear();
      if (proven) return {};
      fd_.reset();
    }
    connect_error_ = proven.error().message();
    if (is_final(proven.error().kind()) || steady_clock::now() >= deadline) return proven;
    // The client pauses between attempts to connect, because no event tells when the next attempt may
    // succeed.
    for (int i = 0; i < looks; ++i)
      if (auto paused = wait_for(-1, 0, deadline); !paused && is_final(paused.error().kind())) return paused;
  }
}

Result<void> Client::prove(Deadline deadline) {
  auto nonce = draw_secret(kNonceBytes);
  if (!nonce) return nonce.error();
  const Hello hello{.attempt = plan_.attempt, .rank = plan_.rank, .nonce = *std::move(nonce)};
  const auto challenge = ask_frame(make_hello(hello), deadline);
  if (!challenge) return challenge.error();
  const bool is_challenge =
      challenge->kind == static_cast<std::uint8_t>(Status::kChallenge) && challenge->words.size() == 2;
  if (!is_challenge || plan_.secret.size() < kSecretMin ||
      !is_same_secret(challenge->words[1],
                      proof_of(Side::kBoard, plan_.secret, hello, challenge->words[0]))) {
    return Error(ErrorKind::kCorrupted,
                 "asking " + place() +
                     ": the answer does not prove that the attempt's secret is known there; another program "
                     "listens at this address");
  }
  const std::string proof = proof_of(Side::kRank, plan_.secret, hello, challenge->words[0]);
  const auto taken = ask_frame(make_frame(Op::kProve, plan_.attempt, {proof}), deadline);
  if (!taken) return taken.error();
  if (taken->kind == static_cast<std::uint8_t>(Status::kDone)) return {};
  return Error(ErrorKind::kCorrupted, "asking " + place() + ": the answer to the proof is of unknown kind " +
                                          std::to_string(taken->kind));
}

Result<UniqueFd> Client::try_to_connect(const SocketAddress& address, Deadline deadline) {
  UniqueFd fd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return system_error(errno, "making a socket to " + place());
  const int on = 1;
  static_cast<void>(::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  int problem = ::connect(fd.get(), address.get(), address.size) == 0 ? 0 : errno;
  if (problem == EINPROGRESS || problem == EINTR) {
    if (auto ready = wait_for(fd.get(), POLLOUT, deadline); !ready)
      return ready.error().with_context("connecting to " + place());
    socklen_t size = sizeof problem;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0) problem = errno;
  }
  if (problem == 0 && is_connected_to_itself(fd.get())) problem = ECONNREFUSED;
  if (problem != 0) return system_error(problem, "connecting to " + place());
  return fd;
}

Result<Frame> Client::exchange(const Frame& request, Deadline deadline) {
  const auto failed = [this](int problem) { return system_error(problem, "asking " + place()); };
  const std::string out = encode(request);
  for (std::size_t sent = 0; sent < out.size();) {
    const auto size = ::send(fd_.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
    if (size >= 0) {
      sent += static_cast<std::size_t>(size);
    } else if (errno == EAGAIN) {
      if (auto ready = wait_for(fd_.get(), POLLOUT, deadline); !ready) return ready.error();
    } else if (errno != EINTR) {
      return failed(errno);
    }
  }
  std::string in;
  std::array<char, 64 << 10> chunk{};
  for (;;) {
    auto decoded = decode(in);
    if (!decoded) return decoded.error().with_context("asking " + place());
    if (*decoded) return std::move((*decoded)->frame);
    const auto size = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
    if (size > 0) {
      in.append(chunk.data(), static_cast<std::size_t>(size));
    } else if (size == 0) {
      return Error(ErrorKind::kUnavailable, "asking " + place() + ": rank 0 closed the connection");
    } else if (errno == EAGAIN) {
      if (auto ready = wait_for(fd_.get(), POLLIN, deadline); !ready) return ready.error();
    } else if (errno != EINTR) {
      return failed(errno);
    }
  }
}

void Client::tell_of_wait() {
  const auto now = steady_clock::now();
  if (now < tell_at_) return;
  tell_at_ = now + kReportInterval;
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - asked_).count();
  const std::string rank =
      "rank " + std::to_string(plan_.rank) + " has waited for " + std::to_string(waited) + " s ";
  const std::string sentence =
      connect_error_.empty()
          ? rank + "for ranks that have not connected to " + place() + "; the wait continues"
          : rank + "for " + place() + ", and tries again: " + connect_error_ +
                "; if that address is wrong, set " + names::env::kPodIp + " for each process";
  if (plan_.tell) return plan_.tell(sentence);
  const SystemClock clock;
  Logger(clock, {.format = LogFormat::kText}).info(sentence);
}

Result<void> Client::wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    tell_of_wait();
    if (plan_.look) plan_.look();
    if (plan_.is_given_up && *plan_.is_given_up)
      return Error(ErrorKind::kCancelled, "the rendezvous at " + place() + " was cancelled");
    const auto left = std::chrono::ceil<milliseconds>(
        std::min<steady_clock::duration>(deadline - steady_clock::now(), kLook));
    if (left <= milliseconds::zero()) {
      return Error(ErrorKind::kTimeout, "waiting for " + place() + ": the deadline passed");
    }
    pollfd ready{fd, events, 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) > 0) return {};
    if (fd < 0) return {};
  }
}

}  // namespace ratoon::board
