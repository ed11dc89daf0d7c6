// The coordinator's server under load, over real HTTP on loopback. The callers are in another process, so
// that the measured processor time is the server's alone. Each member sends a token of its own, which the
// operator's own reviewer reviews; only the API server is a stand-in, which answers at once.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/contract/codec.h"
#include "base/contract/names.h"
#include "base/http/server.h"
#include "operator/coordinator/coordinator.h"
#include "operator/core/reconcile.h"
#include "operator/runtime/members/admission_queue.h"
#include "operator/runtime/members/member_check.h"
#include "operator/runtime/members/token_reviewer.h"
#include "tests/bench/peak.h"
#include "tests/bench/tls_caller.h"
#include "tests/conformance/support/raw_socket.h"
#include "tests/conformance/support/test_certificates.h"
#include "tests/support/member_tokens.h"
#include "tests/support/operator_builders.h"

namespace {

using namespace ratoon;
using bench::TlsCaller;
using http::testing::RawSocket;
using Tls = std::optional<http::TlsServerOptions>;

// Keys as the chart makes them: elliptic curves.
Tls make_certificate() {
  const auto identity = http::testing::TestAuthority().issue({.alternative_names = "DNS:localhost"});
  return http::TlsServerOptions{.certificate_pem = identity.certificate_pem,
                                .private_key_pem = identity.key_pem};
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

template <class Message>
std::string post(std::string_view route, const ProcessIdentity& process, const Message& message) {
  const std::string body = encode(message);
  return "POST " + std::string(route) + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
         test::token_of(process) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string read_head(RawSocket& socket) {
  return socket.read_until("\r\n\r\n", std::chrono::seconds(60));
}
std::string read_head(TlsCaller& caller) {
  return caller.read_until("\r\n\r\n");
}

// The reply's body; empty: the call was refused, or there was no reply.
template <class Connection>
std::string take_reply(Connection& socket) {
  constexpr std::string_view kLength = "Content-Length: ";
  const std::string head = read_head(socket);
  const auto at = head.find(kLength);
  if (!head.starts_with("HTTP/1.1 200") || at == std::string::npos) return "";
  const std::size_t size = std::strtoull(head.c_str() + at + kLength.size(), nullptr, 10);
  const std::string body = socket.read_exactly(size);
  return body.size() == size ? body : "";
}

// Another process that calls once it knows the port. The process is made before this process has threads.
class Callers {
 public:
  explicit Callers(const std::function<bool(std::uint16_t port)>& call) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    child_ = ::fork();
    if (child_ == 0) {
      std::uint16_t port = 0;
      const bool is_told = ::read(ends[0], &port, sizeof port) == sizeof port;
      ::_exit(is_told && call(port) ? 0 : 1);
    }
    ::close(ends[0]);
    tell_ = ends[1];
  }
  // Whether all calls were answered.
  bool run(std::uint16_t port) {
    if (::write(tell_, &port, sizeof port) != sizeof port) return false;
    int status = 1;
    ::waitpid(child_, &status, 0);
    ::close(tell_);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t child_ = -1;
  int tell_ = -1;
};

// One job whose pods all run, and a thread that decides on it after each message.
class Server {
 public:
  explicit Server(api::TrainingJob job, Tls tls = {})
      : seen_(test::running(std::move(job))),
        coordinator_(clock_, {.authenticate =
                                  [this](std::string_view token, const ProcessIdentity& process) {
                                    return runtime::check_member(tokens_, token, process);
                                  },
                              .on_change = [this](const JobKey&) { ask(); },
                              .limits = {.burst = 1e9}}),
        decides_([this](const std::stop_token& stop) { decide(stop); }) {
    for (auto& process : seen_.processes) process.last_heard = clock_.now();
    decide_once();
    http_ =
        *http::HttpServer::start({.tls = std::move(tls),
                                  .threads = 4,
                                  .unauthenticated_connections_max = runtime::kUnauthenticatedConnectionsMax},
                                 [this](http::ServerRequest request, http::Responder responder) {
                                   admission_queue_.receive(std::move(request), std::move(responder));
                                 });
  }
  ~Server() { http_->stop(); }

  [[nodiscard]] std::uint16_t port() const { return http_->port(); }
  [[nodiscard]] std::size_t parked() const { return coordinator_.load().parked; }

 private:
  void ask() {
    const std::lock_guard lock(mutex_);
    is_asked_ = true;
    wake_.notify_one();
  }
  void decide(const std::stop_token& stop) {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [&] { return is_asked_; })) return;
        is_asked_ = false;
      }
      const std::lock_guard lock(deciding_);
      seen_.processes = coordinator_.processes(test::job_key());
      seen_.world = coordinator_.world(test::job_key());
      decide_once();
    }
  }
  void decide_once() {
    seen_.listening_since = coordinator_.listening_since(test::job_key());
    seen_.wall_now = clock_.wall_now();
    const auto decision = core::reconcile(seen_, clock_.now());
    seen_.job.status = decision.status;
    coordinator_.announce(test::job_key(), decision.announcement);
  }

  SystemClock clock_;
  std::mutex deciding_;
  core::Observation seen_;  // guarded by deciding_
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool is_asked_ = false;  // guarded by mutex_
  runtime::ApiClient client_{
      {.server = "https://127.0.0.1:1"}, clock_, {}, nullptr, std::make_unique<test::ReviewsInMemory>()};
  runtime::TokenReviewer tokens_{client_, clock_};
  coordinator::Coordinator coordinator_;
  runtime::AdmissionQueue admission_queue_{
      clock_,
      {.is_known =
           [this](const http::ServerRequest& request) {
             return tokens_.knows(coordinator::bearer_token(request));
           },
       .answer = [this](const http::ServerRequest& request,
                        http::Responder responder) { coordinator_.handle(request, std::move(responder)); }}};
  std::jthread decides_;
  std::unique_ptr<http::HttpServer> http_;
};

api::TrainingJob forming(std::uint32_t members) {
  auto job = test::job(members);
  job.status.is_world_formed = false;
  job.status.world_size = 0;
  return job;
}

// Each beat comes from the next one of the members in turn, on connections that stay open.
template <class Connection>
void time_beats_of_all(benchmark::State& state, const Tls& tls) {
  constexpr std::uint32_t kConnections = 8;
  constexpr std::uint64_t kBeats = 40'000;
  const auto members = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) {
    Callers callers([&](std::uint16_t port) {
      std::vector<Connection> sockets;
      for (std::uint32_t i = 0; i < kConnections; ++i) sockets.push_back(Connection::connect_to(port));
      for (std::uint64_t beat = 0; beat < kBeats; beat += kConnections) {
        for (std::uint32_t i = 0; i < kConnections; ++i) {
          const auto who = static_cast<std::uint32_t>((beat + i) % members);
          const auto process = test::process(who);
          if (!sockets[i].send(
                  post(names::route::kBeat, process, test::beat(process, 1, beat, beat + i + 1))))
            return false;
        }
        for (auto& socket : sockets)
          if (take_reply(socket).empty()) return false;
      }
      return true;
    });
    Server server(test::job(members), tls);
    const double before = cpu_seconds();
    if (!callers.run(server.port())) return state.SkipWithError("a beat was not answered");
    state.SetIterationTime(cpu_seconds() - before);  // so items a second are beats a processor second
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBeats));
}
void beats(benchmark::State& state) {
  time_beats_of_all<RawSocket>(state, {});
}
void beats_over_tls(benchmark::State& state) {
  time_beats_of_all<TlsCaller>(state, make_certificate());
}
BENCHMARK(beats)->Arg(8)->Arg(1000)->ArgName("members")->UseManualTime()->Iterations(3)->Unit(
    benchmark::kMillisecond);
BENCHMARK(beats_over_tls)
    ->Arg(8)
    ->Arg(1000)
    ->ArgName("members")
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

// All members ask to join, and all get their seats.
template <class Connection>
void time_joins_of_all(benchmark::State& state, const Tls& tls) {
  const auto members = static_cast<std::uint32_t>(state.range(0));
  double cpu = 0;
  for (auto _ : state) {
    Callers callers([&](std::uint16_t port) {
      std::vector<Connection> sockets;
      for (std::uint32_t i = 0; i < members; ++i) {
        sockets.push_back(Connection::connect_to(port));
        const auto process = test::process(i);
        if (!sockets[i].send(post(names::route::kJoin, process, test::join_request(process)))) return false;
      }
      for (auto& socket : sockets)
        if (take_reply(socket).empty()) return false;
      return true;
    });
    auto job = forming(members);
    // No member sends beats here, as agents do while they wait for a seat.
    job.spec.disruption_policy.suspect_after_seconds = 60;
    Server server(std::move(job), tls);
    const SystemClock clock;
    const double before = cpu_seconds();
    const Timestamp began = clock.now();
    if (!callers.run(server.port())) return state.SkipWithError("a member got no seat");
    state.SetIterationTime(seconds(clock.now() - began));
    cpu += cpu_seconds() - before;
  }
  state.counters["server_cpu_seconds"] = cpu / static_cast<double>(state.iterations());
}
void joins(benchmark::State& state) {
  time_joins_of_all<RawSocket>(state, {});
}
void joins_over_tls(benchmark::State& state) {
  time_joins_of_all<TlsCaller>(state, make_certificate());
}
BENCHMARK(joins)->Arg(100)->Arg(1000)->ArgName("members")->UseManualTime()->Iterations(3)->Unit(
    benchmark::kMillisecond);
BENCHMARK(joins_over_tls)
    ->Arg(100)
    ->Arg(1000)
    ->ArgName("members")
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

// Results of a separate process, for this process to read.
struct Found {
  double beat_p99_seconds = 0;
};

bool park(RawSocket& socket, const ProcessIdentity& process) {
  const auto ask = [&](std::uint64_t seen) {
    return socket.send(
        post(names::route::kOrders, process, OrdersRequest{.process = process, .seen_revision = seen}));
  };
  if (!ask(0)) return false;
  const auto orders = decode<Orders>(take_reply(socket));
  return orders && ask(orders->revision);
}

// The time of a beat, from sending to reply, while all other processes are parked in polls.
bool time_beats(std::uint16_t port, Found& found) {
  constexpr std::uint64_t kBeats = 1000;
  const SystemClock clock;
  auto socket = RawSocket::connect_to(port);
  std::vector<double> each;
  for (std::uint64_t beat = 1; beat <= kBeats; ++beat) {
    const Timestamp began = clock.now();
    const auto process = test::process(0);
    if (!socket.send(post(names::route::kBeat, process, test::beat(process, 1, beat, beat)))) return false;
    if (take_reply(socket).empty()) return false;
    each.push_back(seconds(clock.now() - began));
  }
  std::sort(each.begin(), each.end());
  found.beat_p99_seconds = each[each.size() * 99 / 100];
  return true;
}

std::ptrdiff_t count_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// As many long polls as there are processes, all held by the four threads that also answer beats. The
// server's resources for the polls: memory (peak_bytes) and threads.
void parked_polls(benchmark::State& state) {
  constexpr std::uint32_t kEach = 5;  // processes of a member
  const auto polls = static_cast<std::uint32_t>(state.range(0));
  const rlimit files{.rlim_cur = polls * 2 + 200, .rlim_max = polls * 2 + 200};
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0)
    return state.SkipWithError("not enough open files are allowed");
  auto* found = static_cast<Found*>(
      ::mmap(nullptr, sizeof(Found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (auto _ : state) {
    std::size_t most = 0;
    Callers callers([&](std::uint16_t port) {
      std::vector<RawSocket> sockets;
      for (std::uint32_t i = 0; i < polls; ++i) {
        sockets.push_back(RawSocket::connect_to(port));
        if (!park(sockets.back(), test::process(i / kEach, 0, i % kEach))) return false;
      }
      return time_beats(port, *found);
    });
    auto job = test::job(polls / kEach);
    job.spec.processes_per_node = kEach;
    Server server(std::move(job));
    const bench::Peak peak;
    const double before = cpu_seconds();
    const auto threads_before = count_threads() + 1;  // who looks is no server's
    auto threads = threads_before;
    std::jthread looks([&](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any woken;
      std::unique_lock lock(mutex);
      while (!stop.stop_requested()) {
        most = std::max(most, server.parked());
        threads = std::max(threads, count_threads());
        woken.wait_for(lock, stop, std::chrono::milliseconds(10), [] { return false; });
      }
    });
    if (!callers.run(server.port())) return state.SkipWithError("a poll or a beat was not answered");
    state.counters["server_cpu_seconds"] = cpu_seconds() - before;
    looks.request_stop();
    looks.join();
    peak.report_above(state);
    state.counters["threads_added"] = static_cast<double>(threads - threads_before);
    state.counters["polls_missing"] = static_cast<double>(polls) - static_cast<double>(most);
    state.counters["parked"] = static_cast<double>(most);
    state.counters["beat_p99_seconds"] = found->beat_p99_seconds;
  }
  ::munmap(found, sizeof(Found));
}
BENCHMARK(parked_polls)->Arg(5000)->ArgName("polls")->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
