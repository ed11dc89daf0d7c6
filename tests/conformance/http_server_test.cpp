// HttpServer against clients that are slow, greedy, rude or gone.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/http/server.h"
#include "tests/conformance/support/measures.h"
#include "tests/conformance/support/raw_socket.h"

namespace ratoon::http::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";
constexpr std::string_view kEndOfHead = "\r\n\r\n";

std::unique_ptr<HttpServer> start(ServerOptions options, Handler handler) {
  auto server = HttpServer::start(std::move(options), std::move(handler));
  if (!server) ADD_FAILURE() << server.error().message();
  return std::move(*server);
}

void echo(ServerRequest request, Responder responder) {
  responder.send({.body = request.method + " " + request.path + " " + request.body});
}

ServerOptions brisk() {
  ServerOptions options;
  options.head_deadline = milliseconds(200);
  options.body_deadline = milliseconds(200);
  options.idle_deadline = milliseconds(200);
  options.write_deadline = milliseconds(200);
  return options;
}

// Everything that the server answers to `bytes` on one connection.
std::string talk(const HttpServer& server, std::string_view bytes) {
  auto client = RawSocket::connect_to(server.port());
  client.send(bytes);
  client.close_writing();
  return client.read_to_end();
}

// Waits, in small steps, for what another thread is about to do.
template <class Condition>
bool becomes_true(Condition condition, milliseconds patience = std::chrono::seconds(5)) {
  const Stopwatch watch;
  while (!condition()) {
    if (watch.elapsed() > patience) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
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

// --- Good requests

TEST(HttpServer, AnswersOnAKeptConnection) {
  const auto server = start({}, echo);
  auto client = RawSocket::connect_to(server->port());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.send("POST /p HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nhi"));
    EXPECT_THAT(client.read_until(kEndOfHead), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(client.read_exactly(10), "POST /p hi");
  }
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  const auto server = start({.threads = 2}, [](ServerRequest request, Responder responder) {
    // The first answers come last, were they answered at the same time.
    std::thread([request = std::move(request), responder = std::move(responder)]() mutable {
      std::this_thread::sleep_for(milliseconds(request.path == "/0" ? 50 : 1));
      responder.send({.body = request.path + ";"});
    }).detach();
  });
  std::string requests;
  std::string expected;
  for (int i = 0; i < 10; ++i) {
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: test\r\n\r\n";
    expected += "/" + std::to_string(i) + ";";
  }
  auto client = RawSocket::connect_to(server->port());
  ASSERT_TRUE(client.send(requests));
  std::string bodies;
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(client.read_until(kEndOfHead), HasSubstr("200 OK"));
    bodies += client.read_exactly(3);
  }
  EXPECT_EQ(bodies, expected);
}

TEST(HttpServer, KeepsARequestThatComesWhileAnotherIsParked) {
  Parking parking;
  const auto server = start({}, parking.handler());
  auto client = RawSocket::connect_to(server->port());
  client.send(kGet);
  ASSERT_TRUE(becomes_true([&] { return parking.size() == 1; }));
  client.send(kGet);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(parking.size(), 1);
  for (const std::string body : {"first", "other"}) {
    ASSERT_TRUE(becomes_true([&] { return parking.size() == 1; }));
    parking.take().send({.body = body});
    EXPECT_THAT(client.read_until(kEndOfHead), StartsWith("HTTP/1.1 200 OK"));
    EXPECT_EQ(client.read_exactly(5), body);
  }
}

TEST(HttpServer, ReadsRequestsInAnyPieces) {
  const auto server = start({}, echo);
  const std::string request =
      "POST /p HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n";
  auto client = RawSocket::connect_to(server->port());
  for (const char c : request) ASSERT_TRUE(client.send({&c, 1}));
  EXPECT_THAT(client.read_until(kEndOfHead), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(client.read_exactly(13), "POST /p abcde");
}

TEST(HttpServer, SplitsTheTarget) {
  const auto server = start({}, [](ServerRequest request, Responder responder) {
    responder.send({.body = request.path + "|" + request.query + "|" + request.peer.substr(0, 10)});
  });
  EXPECT_THAT(talk(*server, "GET /a%2Fb/?x=%20&y HTTP/1.1\r\nHost: t\r\n\r\n"),
              HasSubstr("/a%2Fb/|x=%20&y|127.0.0.1:"));
  EXPECT_THAT(talk(*server, "GET http://t:1/a?b HTTP/1.1\r\nHost: t\r\n\r\n"), HasSubstr("/a|b|"));
  EXPECT_THAT(talk(*server, "OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n"), HasSubstr("*||"));
}

TEST(HttpServer, SendsNoBodyForHeadAndFor204) {
  const auto server = start({}, [](ServerRequest request, Responder responder) {
    responder.send({.status = request.path == "/none" ? 204 : 200, .body = "body"});
  });
  const auto head = talk(*server, "HEAD / HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  const auto none = talk(*server, "GET /none HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_THAT(none, StartsWith("HTTP/1.1 204"));
  EXPECT_EQ(none.find("Content-Length"), std::string::npos);
  EXPECT_TRUE(none.ends_with("\r\n\r\n"));
}

TEST(HttpServer, AsksForABodyThatWaits) {
  const auto server = start({}, echo);
  auto client = RawSocket::connect_to(server->port());
  client.send("PUT /p HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read_until(kEndOfHead), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_THAT(client.read_until(kEndOfHead), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(client.read_exactly(11), "PUT /p body");
  // A body that is refused is not asked for.
  EXPECT_THAT(talk(*server,
                   "PUT /p HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 999999999\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
}

TEST(HttpServer, ClosesWhenAskedTo) {
  const auto server = start({}, echo);
  for (const std::string request :
       {"GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    auto client = RawSocket::connect_to(server->port());
    client.send(request);
    EXPECT_THAT(client.read_to_end(), HasSubstr("Connection: close\r\n"));
    EXPECT_TRUE(client.has_ended());
  }
}

TEST(HttpServer, AnswersAClientThatHasClosedItsHalf) {
  const auto server = start({}, echo);
  EXPECT_THAT(talk(*server, kGet), HasSubstr("GET / "));
}

// --- Handlers

TEST(HttpServer, Answers500ForHandlersThatThrowOrForget) {
  const auto server = start({}, [](ServerRequest request, Responder responder) {
    if (request.path == "/throw") throw std::runtime_error("a secret");
    if (request.path == "/forget") return;
    responder.send({.headers = {{"X-Bad", "a\r\nX-Evil: 1"}}});
  });
  for (const std::string path : {"/throw", "/forget", "/smuggle"}) {
    const auto reply = talk(*server, "GET " + path + " HTTP/1.1\r\nHost: t\r\n\r\n");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 500"));
    EXPECT_EQ(reply.find("secret"), std::string::npos);
    EXPECT_EQ(reply.find("Evil"), std::string::npos);
  }
}

TEST(HttpServer, ParksAThousandLongPollsOnOneThread) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const std::size_t polls = files.rlim_cur > 2'500 ? 1'000 : 300;
  Parking parking;
  const long threads_before = count_threads();
  const auto server = start({.threads = 1}, parking.handler());
  std::vector<RawSocket> clients;
  for (std::size_t i = 0; i < polls; ++i) {
    clients.push_back(RawSocket::connect_to(server->port()));
    ASSERT_TRUE(clients.back().send(kGet));
  }
  ASSERT_TRUE(becomes_true([&] { return parking.size() == polls; })) << parking.size();
  EXPECT_LE(count_threads(), threads_before + 1);
  for (std::size_t i = 0; i < polls; ++i) parking.take().send({.body = "formed"});
  for (auto& client : clients) {
    EXPECT_THAT(client.read_until(kEndOfHead), StartsWith("HTTP/1.1 200 OK"));
    EXPECT_EQ(client.read_exactly(6), "formed");
  }
}

TEST(HttpServer, NoticesThatALongPollWasAbandoned) {
  Parking parking;
  const auto server = start({}, parking.handler());
  for (const bool is_reset : {false, true}) {
    auto client = RawSocket::connect_to(server->port());
    client.send(kGet);
    ASSERT_TRUE(becomes_true([&] { return parking.size() == 1; }));
    auto responder = parking.take();
    EXPECT_FALSE(responder.is_abandoned());
    is_reset ? client.reset() : client.close();
    EXPECT_TRUE(becomes_true([&] { return responder.is_abandoned(); }));
    responder.send({});
  }
}

// --- Limits

TEST(HttpServer, RefusesALongHeadAndABigBody) {
  const auto server = start({.head_bytes_max = 2'000, .body_bytes_max = 1'000}, echo);
  const std::string padding(1'900, 'p');
  EXPECT_THAT(talk(*server, "GET / HTTP/1.1\r\nHost: t\r\nX: " + padding + "\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(talk(*server, "GET / HTTP/1.1\r\nHost: t\r\nX: " + padding + padding + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(talk(*server, "GET /" + padding + padding), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(
      talk(*server, "PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n" + std::string(1'000, 'b')),
      StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(talk(*server, "PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 1001\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(talk(*server, "PUT / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                                std::string(1'001, 'b')),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(
      talk(*server, "PUT / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1;" + padding + padding),
      ::testing::AnyOf(StartsWith("HTTP/1.1 431"), StartsWith("HTTP/1.1 400")));
}

TEST(HttpServer, KeepsItsMemoryUnderAHundredMegabytesOfHead) {
  const auto server = start(brisk(), echo);
  const std::string line = "X-Padding: " + std::string(65'000, 'p') + "\r\n";
  const MemoryPeak memory;
  for (const std::string_view shape :
       {"GET / HTTP/1.1\r\nHost: t\r\n", "GET /",
        "PUT / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n"}) {
    auto client = RawSocket::connect_to(server->port());
    client.send(shape);
    const auto sent = client.send_flood(line, 100 << 20);
    client.read_to_end();
    EXPECT_TRUE(client.has_ended() || sent < (100u << 20));
  }
  EXPECT_LT(memory.growth_mib(), kFewMib);
}

TEST(HttpServer, Answers408ToSlowHeadsAndBodies) {
  const auto server = start(brisk(), echo);
  for (const std::string begin :
       {"GET / HTTP/1.1\r\nX: ", "PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 999\r\n\r\n"}) {
    auto client = RawSocket::connect_to(server->port());
    client.send(begin);
    const Stopwatch watch;
    std::jthread drip([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && client.send("x")) std::this_thread::sleep_for(milliseconds(20));
    });
    EXPECT_THAT(client.read_until(kEndOfHead), StartsWith("HTTP/1.1 408"));
    EXPECT_GE(watch.elapsed(), milliseconds(190));
    EXPECT_LT(watch.elapsed(), milliseconds(200) + 2 * kPrompt);
    drip.request_stop();
    drip.join();
    client.read_to_end();
    EXPECT_TRUE(client.has_ended());
  }
}

TEST(HttpServer, ClosesIdleConnections) {
  const auto server = start(brisk(), echo);
  auto silent = RawSocket::connect_to(server->port());
  auto used = RawSocket::connect_to(server->port());
  used.send(kGet);
  EXPECT_THAT(used.read_until(kEndOfHead), StartsWith("HTTP/1.1 200"));
  const Stopwatch watch;
  EXPECT_EQ(used.read_to_end(), "GET / ");
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_TRUE(used.has_ended() && silent.has_ended());
  EXPECT_LT(watch.elapsed(), milliseconds(1'000));
}

TEST(HttpServer, DoesNotCloseALongPollAsIdle) {
  Parking parking;
  const auto server = start(brisk(), parking.handler());
  auto client = RawSocket::connect_to(server->port());
  client.send(kGet);
  EXPECT_EQ(client.read_exactly(1, milliseconds(600)), "");
  EXPECT_FALSE(client.has_ended());
  parking.take().send({.body = "late"});
  EXPECT_THAT(client.read_until("late"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, Answers503OverItsConnections) {
  Parking parking;
  const auto server = start({.connections_max = 2}, parking.handler());
  std::optional<RawSocket> first(RawSocket::connect_to(server->port()));
  auto second = RawSocket::connect_to(server->port());
  first->send(kGet);
  second.send(kGet);
  ASSERT_TRUE(becomes_true([&] { return parking.size() == 2; }));
  EXPECT_THAT(talk(*server, kGet), StartsWith("HTTP/1.1 503"));
  first.reset();
  parking.take().send({});
  EXPECT_TRUE(becomes_true([&] {
    auto third = RawSocket::connect_to(server->port());
    third.send(kGet);
    return third.read_exactly(1, milliseconds(50)).empty() && !third.has_ended();  // parked
  }));
}

TEST(HttpServer, DropsAReaderThatTakesNothing) {
  std::promise<Result<void>> ended;
  const auto server = start(brisk(), [&](ServerRequest, Responder responder) {
    auto writer = responder.stream(200, {});
    Result<void> written;
    while ((written = writer->write(std::string(100'000, 'x')))) {
    }
    ended.set_value(written);
  });
  auto client = RawSocket::connect_to(server->port());
  client.send(kGet);
  auto end = ended.get_future();
  ASSERT_EQ(end.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_EQ(end.get().error().kind(), ErrorKind::kUnavailable);
}

// --- Streams

TEST(HttpServer, HoldsTheWriterBackUntilTheReaderReads) {
  std::atomic<std::size_t> written{0};
  const auto server = start({.threads = 1}, [&](ServerRequest request, Responder responder) {
    if (request.path == "/short") return responder.send({.body = "still here"});
    auto writer = responder.stream(200, {});
    const std::string piece(50'000, 'x');
    for (int i = 0; i < 1'000; ++i) {
      if (!writer->write(piece)) return;
      written += piece.size();
    }
    writer->finish();
  });
  auto client = RawSocket::connect_to(server->port());
  client.send("GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
  std::size_t seen = 0;
  ASSERT_TRUE(becomes_true([&] {
    const std::size_t before = std::exchange(seen, written.load());
    std::this_thread::sleep_for(milliseconds(50));
    return seen != 0 && before == written;
  }));
  EXPECT_LT(written, 20'000'000);
  // The handler blocks the only thread; a spare one serves the others.
  EXPECT_THAT(talk(*server, "GET /short HTTP/1.1\r\nHost: t\r\n\r\n"), HasSubstr("still here"));
  EXPECT_GT(client.read_to_end().size(), 50'000'000);
  EXPECT_EQ(written, 50'000'000);
}

TEST(HttpServer, EndsAStreamOnlyWhenItIsFinished) {
  const auto server = start({}, [](ServerRequest, Responder responder) {
    auto writer = responder.stream(200, {});
    EXPECT_TRUE(writer->write("part"));
    writer->finish();
  });
  EXPECT_TRUE(talk(*server, kGet).ends_with("4\r\npart\r\n0\r\n\r\n"));
  // HTTP/1.0 knows no chunks: the end of the connection is the end of the reply.
  EXPECT_TRUE(talk(*server, "GET / HTTP/1.0\r\n\r\n").ends_with("\r\n\r\npart"));
}

TEST(HttpServer, CutsAStreamThatIsDropped) {
  std::promise<std::unique_ptr<StreamWriter>> streaming;
  const auto server = start({}, [&](ServerRequest, Responder responder) {
    auto writer = responder.stream(200, {});
    EXPECT_TRUE(writer->write("part"));
    streaming.set_value(std::move(writer));
  });
  auto client = RawSocket::connect_to(server->port());
  client.send(kGet);
  EXPECT_TRUE(client.read_until("part\r\n").ends_with("4\r\npart\r\n"));
  streaming.get_future().get().reset();
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_TRUE(client.has_ended());
}

// --- Bad requests

TEST(HttpServer, RefusesWhatIsNotHttp) {
  const auto server =
      start({}, [](ServerRequest, Responder responder) { responder.send({.body = "reached"}); });
  for (const std::string request : {
           "hello\r\n\r\n",
           "GET /\r\n\r\n",
           "GET  / HTTP/1.1\r\nHost: t\r\n\r\n",
           "G@T / HTTP/1.1\r\nHost: t\r\n\r\n",
           "GET / HTTP/9.9\r\nHost: t\r\n\r\n",
           "GET nowhere HTTP/1.1\r\nHost: t\r\n\r\n",
           "GET / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost : t\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: t\r\nX\x01: t\r\n\r\n",
           "CONNECT t:80 HTTP/1.1\r\nHost: t\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: t\r\nExpect: miracles\r\n\r\n",
           // Two ways to read the length: the shapes of request smuggling.
           "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
           "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
           "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4, 4\r\n\r\nabcd",
           "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: +4\r\n\r\nabcd",
           "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: -4\r\n\r\nabcd",
           "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 0x4\r\n\r\nabcd",
           "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999\r\n\r\nabcd",
           "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
           "identity\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n",
       }) {
    const auto reply = talk(*server, request);
    EXPECT_THAT(reply,
                ::testing::MatchesRegex("HTTP/1\\.1 [45][0-9][0-9] (.|\n|\r)*Connection: close(.|\n|\r)*"))
        << request;
    EXPECT_EQ(reply.find("reached"), std::string::npos) << request;
  }
}

TEST(HttpServer, ReportsWhyItCannotStart) {
  const auto first = start({}, echo);
  const auto second = HttpServer::start({.port = first->port()}, echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr(std::to_string(first->port())));
  const auto nowhere = HttpServer::start({.address = "localhost"}, echo);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind(), ErrorKind::kInvalid);
  const auto without_key = HttpServer::start({.tls = TlsServerOptions{}}, echo);
  ASSERT_FALSE(without_key);
  EXPECT_EQ(without_key.error().kind(), ErrorKind::kInvalid);
}

// --- The end

TEST(HttpServer, StopsWithParkedAndStreamingRequests) {
  const long threads_before = count_threads();
  Parking parking;
  std::vector<RawSocket> clients;
  std::promise<Result<void>> streamed;
  std::jthread writer_thread;
  std::unique_ptr<StreamWriter> kept_writer;
  {
    const auto park = parking.handler();
    const auto server = start({.threads = 2}, [&](ServerRequest request, Responder responder) {
      if (request.path == "/park") return park(std::move(request), std::move(responder));
      auto writer = responder.stream(200, {});
      if (request.path == "/keep") {
        kept_writer = std::move(writer);
        return;
      }
      writer_thread = std::jthread([&, writer = std::move(writer)] {
        Result<void> written;
        while ((written = writer->write(std::string(100'000, 'x')))) {
        }
        streamed.set_value(written);
      });
    });
    for (const std::string path : {"/park", "/park", "/keep", "/stream"}) {
      clients.push_back(RawSocket::connect_to(server->port()));
      clients.back().send("GET " + path + " HTTP/1.1\r\nHost: t\r\n\r\n");
      if (path == "/park") continue;
      EXPECT_THAT(clients.back().read_until(kEndOfHead), StartsWith("HTTP/1.1 200"));
    }
    ASSERT_TRUE(becomes_true([&] { return parking.size() == 2; }));
    const Stopwatch watch;
    std::jthread other([&] { server->stop(); });
    server->stop();
    other.join();
    EXPECT_LT(watch.elapsed(), 4 * kPrompt);
  }
  EXPECT_EQ(streamed.get_future().get().error().kind(), ErrorKind::kUnavailable);
  writer_thread.join();
  for (auto& client : clients) {
    client.read_to_end();
    EXPECT_TRUE(client.has_ended());
  }
  // What outlives the server does no harm.
  auto late = parking.take();
  EXPECT_TRUE(late.is_abandoned());
  late.send({.body = "too late"});
  {
    auto dropped = parking.take();
  }
  EXPECT_FALSE(kept_writer->write("too late"));
  kept_writer->finish();
  kept_writer.reset();
  EXPECT_LE(count_threads(), threads_before);
}

TEST(HttpServer, WaitsForRunningHandlersWhenItStops) {
  std::promise<void> entered;
  std::atomic<bool> is_done{false};
  auto server = start({}, [&](ServerRequest, Responder responder) {
    entered.set_value();
    std::this_thread::sleep_for(milliseconds(100));
    is_done = true;
    responder.send({});
  });
  auto client = RawSocket::connect_to(server->port());
  client.send(kGet);
  entered.get_future().wait();
  server->stop();
  EXPECT_TRUE(is_done);
}

TEST(HttpServer, StartsAndStopsAgainAndAgain) {
  const long threads_before = count_threads();
  for (int i = 0; i < 50; ++i) {
    const auto server = start({.threads = 3}, echo);
    auto client = RawSocket::connect_to(server->port());
    client.send(kGet);
    if (i % 2 == 0) {
      EXPECT_THAT(client.read_until(kEndOfHead), StartsWith("HTTP/1.1 200"));
    }
  }
  EXPECT_LE(count_threads(), threads_before);
}

}  // namespace
}  // namespace ratoon::http::testing
