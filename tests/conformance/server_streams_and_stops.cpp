// HttpServer streams replies, refuses what is not HTTP, and stops in any situation.
#include <atomic>
#include <future>
#include <vector>

#include "tests/conformance/support/server_tests.h"

namespace ratoon::http::testing::server_streams_and_stops {
namespace {

TEST(HttpServer, DropsAReaderThatTakesNothing) {
  std::promise<Result<void>> ended;
  auto options = unhurried();
  options.write_deadline = kSoon;
  const auto server = start(options, [&](ServerRequest, Responder responder) {
    auto writer = responder.stream(200, {});
    Result<void> written;
    while ((written = writer->write(std::string(100'000, 'x')))) {
    }
    ended.set_value(written);
  });
  auto client = RawSocket::connect_to(server->port());
  client.send(kGet);
  auto end = ended.get_future();
  ASSERT_EQ(end.wait_for(kPatience), std::future_status::ready);
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
  // The handler blocks the only thread; a spare thread serves the other connections.
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
  // HTTP/1.0 has no chunks: the end of the connection is the end of the reply.
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
           // A request whose length can be read in two ways, as in request smuggling.
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
    auto options = unhurried();
    options.threads = 2;
    const auto server = start(options, [&](ServerRequest request, Responder responder) {
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
    std::jthread other([&] { server->stop(); });
    server->stop();  // no deadline of the server's would end what it waits for
    other.join();
  }
  EXPECT_EQ(streamed.get_future().get().error().kind(), ErrorKind::kUnavailable);
  writer_thread.join();
  for (auto& client : clients) {
    client.read_to_end();
    EXPECT_TRUE(client.has_ended());
  }
  // Objects that outlive the server do no harm.
  auto late = parking.take();
  EXPECT_TRUE(late.is_abandoned());
  late.send({.body = "too late"});
  {
    auto dropped = parking.take();
  }
  EXPECT_FALSE(kept_writer->write("too late"));
  kept_writer->finish();
  kept_writer.reset();
  EXPECT_TRUE(are_threads_at_most(threads_before)) << count_threads();
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
  EXPECT_TRUE(are_threads_at_most(threads_before)) << count_threads();
}

}  // namespace
}  // namespace ratoon::http::testing::server_streams_and_stops
