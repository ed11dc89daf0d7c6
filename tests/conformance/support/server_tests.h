// What the tests of HttpServer share: servers with short deadlines, a client that talks raw bytes, parked
// requests.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/http/server.h"
#include "tests/conformance/support/measures.h"
#include "tests/conformance/support/raw_socket.h"

namespace ratoon::http::testing {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

inline constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";
inline constexpr std::string_view kEndOfHead = "\r\n\r\n";

inline std::unique_ptr<HttpServer> start(ServerOptions options, Handler handler) {
  auto server = HttpServer::start(std::move(options), std::move(handler));
  if (!server) ADD_FAILURE() << server.error().message();
  return std::move(*server);
}

inline void echo(ServerRequest request, Responder responder) {
  responder.send({.body = request.method + " " + request.path + " " + request.body});
}

// A server with one short deadline, whose other deadlines never come.
inline constexpr milliseconds kSoon{200};

inline ServerOptions unhurried() {
  ServerOptions options;
  options.head_deadline = kNever;
  options.body_deadline = kNever;
  options.idle_deadline = kNever;
  options.write_deadline = kNever;
  options.unauthenticated_deadline = kNever;
  return options;
}

// Returns all bytes that the server answers to `bytes` on one connection.
inline std::string talk(const HttpServer& server, std::string_view bytes) {
  auto client = RawSocket::connect_to(server.port());
  client.send(bytes);
  client.close_writing();
  return client.read_to_end();
}

// Waits, in small steps, for an effect of another thread.
template <class Condition>
bool becomes_true(Condition condition, milliseconds patience = kPatience) {
  const Stopwatch watch;
  while (!condition()) {
    if (watch.elapsed() > patience) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

// Threads that were joined are still counted for a moment.
inline bool are_threads_at_most(long count) {
  return becomes_true([count] { return count_threads() <= count; });
}

// Requests whose handlers have returned without an answer.
class Parking {
 public:
  Handler handler() {
    return [this](ServerRequest, Responder responder) {
      const std::lock_guard lock(mutex_);
      parked_.push_back(std::move(responder));
    };
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return parked_.size();
  }
  Responder take() {
    const std::lock_guard lock(mutex_);
    Responder responder = std::move(parked_.front());
    parked_.pop_front();
    return responder;
  }

 private:
  std::mutex mutex_;
  std::deque<Responder> parked_;
};

}  // namespace ratoon::http::testing
