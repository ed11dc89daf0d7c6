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

// The time limit of an attempt to connect grows from kConnectTimeoutMin to kConnectTimeoutMax. The first
// limits are short, because the kernel repeats an unanswered SYN only after 1, 3 and 7 s: if the network or
// the accept queue becomes ready in between, a new attempt to connect succeeds sooner than the repeated SYN.
constexpr milliseconds kConnectTimeoutMin(500);
constexpr milliseconds kConnectTimeoutMax = std::chrono::seconds(5);
constexpr milliseconds kPollInterval(20);  // the interval of checks whether the attempt was abandoned
constexpr int kPollsPerRetryMax = 16;      // between two attempts to connect
constexpr auto kReportInterval = std::chrono::minutes(1);

// Returns whether another attempt to connect would end with the same error.
bool is_permanent_error(ErrorKind kind) {
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

std::string Client::describe_server() const {
  return settings_.host + " port " + std::to_string(settings_.port) + ", where rank 0 of attempt " +
         std::to_string(settings_.attempt) + " serves its key-value store";
}

Result<std::vector<std::string>> Client::send_request(Op op, std::vector<std::string> words,
                                                      Deadline deadline) {
  const Frame request = make_frame(op, settings_.attempt, std::move(words));
  if (request.words.size() > kWordsMax || encoded_size(request) > kFrameBytesMax) {
    return Error(ErrorKind::kInvalid, "a request to the key-value store of rank 0 has " +
                                          std::to_string(encoded_size(request)) + " bytes; at most " +
                                          std::to_string(kFrameBytesMax) + " are allowed");
  }
  request_began_at_ = steady_clock::now();
  next_report_at_ = request_began_at_ + settings_.report_wait_after;
  if (!fd_.is_open()) {
    connect_error_ = "no answer has arrived yet";
    if (auto connected = connect(deadline); !connected) return connected.error();
  }
  auto reply = send_request_frame(request, deadline);
  if (!reply) return reply.error();
  if (reply->kind == static_cast<std::uint8_t>(Status::kDone)) return std::move(reply->words);
  fd_.reset();
  return Error(ErrorKind::kCorrupted, "asking " + describe_server() + ": the answer is of unknown kind " +
                                          std::to_string(reply->kind));
}

Result<Frame> Client::send_request_frame(const Frame& request, Deadline deadline) {
  auto reply = exchange_frames(request, deadline);
  if (!reply) {
    fd_.reset();  // the answer may still come: nothing else may be asked on this connection
    return reply;
  }
  const std::string why = reply->words.empty() ? "" : reply->words[0];
  if (reply->kind == static_cast<std::uint8_t>(Status::kOver))
    return Error(ErrorKind::kConflict,
                 "asking " + describe_server() + ": the newer attempt " + why + " has begun");
  if (reply->kind == static_cast<std::uint8_t>(Status::kRefused))
    return Error(ErrorKind::kInvalid, "asking " + describe_server() + ": " + why);
  return reply;
}

// Connects to rank 0, and tries again after an error: the network between the machines may not be ready yet,
// or rank 0 may have closed the connection because many ranks connect at once.
Result<void> Client::connect(Deadline deadline) {
  const auto address = read_ip(settings_.host, settings_.port);
  if (!address) {
    return Error(ErrorKind::kInvalid,
                 "the address of rank 0 must be numeric, found '" + settings_.host + "'");
  }
  milliseconds connect_timeout = kConnectTimeoutMin;
  for (int polls = 1;; polls = std::min(2 * polls, kPollsPerRetryMax)) {
    auto fd = try_to_connect(*address, std::min(deadline, steady_clock::now() + connect_timeout));
    connect_timeout = std::min(2 * connect_timeout, kConnectTimeoutMax);
    auto proven = fd ? Result<void>() : Result<void>(fd.error());
    if (fd) {
      fd_ = std::move(*fd);
      proven = authenticate(deadline);
      connect_error_.clear();
      if (proven) return {};
      fd_.reset();
    }
    connect_error_ = proven.error().message();
    if (is_permanent_error(proven.error().kind()) || steady_clock::now() >= deadline) return proven;
    // The client pauses between attempts to connect, because no event tells when the next attempt may
    // succeed.
    for (int i = 0; i < polls; ++i)
      if (auto paused = wait_for(-1, 0, deadline); !paused && is_permanent_error(paused.error().kind()))
        return paused;
  }
}

Result<void> Client::authenticate(Deadline deadline) {
  auto nonce = random_hex_secret(kNonceBytes);
  if (!nonce) return nonce.error();
  const Hello hello{.attempt = settings_.attempt, .rank = settings_.rank, .nonce = *std::move(nonce)};
  const auto challenge = send_request_frame(make_hello(hello), deadline);
  if (!challenge) return challenge.error();
  const bool is_challenge =
      challenge->kind == static_cast<std::uint8_t>(Status::kChallenge) && challenge->words.size() == 2;
  if (!is_challenge || settings_.secret.size() < kSecretBytesMin ||
      !is_same_secret(challenge->words[1],
                      compute_proof(HandshakeSide::kBoard, settings_.secret, hello, challenge->words[0]))) {
    return Error(ErrorKind::kCorrupted,
                 "asking " + describe_server() +
                     ": the answer does not prove that the attempt's secret is known there; another program "
                     "listens at this address");
  }
  const std::string proof = compute_proof(HandshakeSide::kRank, settings_.secret, hello, challenge->words[0]);
  const auto taken = send_request_frame(make_frame(Op::kProve, settings_.attempt, {proof}), deadline);
  if (!taken) return taken.error();
  if (taken->kind == static_cast<std::uint8_t>(Status::kDone)) return {};
  return Error(ErrorKind::kCorrupted, "asking " + describe_server() +
                                          ": the answer to the proof is of unknown kind " +
                                          std::to_string(taken->kind));
}

Result<UniqueFd> Client::try_to_connect(const SocketAddress& address, Deadline deadline) {
  UniqueFd fd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return system_error(errno, "making a socket to " + describe_server());
  const int on = 1;
  static_cast<void>(::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  int problem = ::connect(fd.get(), address.get(), address.size) == 0 ? 0 : errno;
  if (problem == EINPROGRESS || problem == EINTR) {
    if (auto ready = wait_for(fd.get(), POLLOUT, deadline); !ready)
      return ready.error().with_context("connecting to " + describe_server());
    socklen_t size = sizeof problem;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0) problem = errno;
  }
  if (problem == 0 && is_connected_to_itself(fd.get())) problem = ECONNREFUSED;
  if (problem != 0) return system_error(problem, "connecting to " + describe_server());
  return fd;
}

Result<Frame> Client::exchange_frames(const Frame& request, Deadline deadline) {
  const auto failed = [this](int problem) { return system_error(problem, "asking " + describe_server()); };
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
    if (!decoded) return decoded.error().with_context("asking " + describe_server());
    if (*decoded) return std::move((*decoded)->frame);
    const auto size = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
    if (size > 0) {
      in.append(chunk.data(), static_cast<std::size_t>(size));
    } else if (size == 0) {
      return Error(ErrorKind::kUnavailable, "asking " + describe_server() + ": rank 0 closed the connection");
    } else if (errno == EAGAIN) {
      if (auto ready = wait_for(fd_.get(), POLLIN, deadline); !ready) return ready.error();
    } else if (errno != EINTR) {
      return failed(errno);
    }
  }
}

void Client::report_long_wait() {
  const auto now = steady_clock::now();
  if (now < next_report_at_) return;
  next_report_at_ = now + kReportInterval;
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - request_began_at_).count();
  const std::string rank =
      "rank " + std::to_string(settings_.rank) + " has waited for " + std::to_string(waited) + " s ";
  const std::string sentence =
      connect_error_.empty()
          ? rank + "for ranks that have not connected to " + describe_server() + "; the wait continues"
          : rank + "for " + describe_server() + ", and tries again: " + connect_error_ +
                "; if that address is wrong, set " + names::env::kPodIp + " for each process";
  if (settings_.tell) return settings_.tell(sentence);
  const SystemClock clock;
  Logger(clock, {.format = LogFormat::kText}).info(sentence);
}

Result<void> Client::wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    report_long_wait();
    if (settings_.look) settings_.look();
    if (settings_.is_given_up && *settings_.is_given_up)
      return Error(ErrorKind::kCancelled, "the rendezvous at " + describe_server() + " was cancelled");
    const auto left = std::chrono::ceil<milliseconds>(
        std::min<steady_clock::duration>(deadline - steady_clock::now(), kPollInterval));
    if (left <= milliseconds::zero()) {
      return Error(ErrorKind::kTimeout, "waiting for " + describe_server() + ": the deadline passed");
    }
    pollfd ready{fd, events, 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) > 0) return {};
    if (fd < 0) return {};
  }
}

}  // namespace ratoon::board
