// HttpServer against clients that are slow or greedy: every head, body, wait and connection is bounded.
#include <atomic>
#include <optional>

#include "tests/conformance/support/server_tests.h"

namespace ratoon::http::testing::server_limits {
namespace {

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
  const auto server = start(unhurried(), echo);
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
  auto slow_head = unhurried();
  slow_head.head_deadline = kSoon;
  auto slow_body = unhurried();
  slow_body.body_deadline = kSoon;
  for (const auto& [options, begin] :
       {std::pair{slow_head, std::string("GET / HTTP/1.1\r\nX: ")},
        std::pair{slow_body, std::string("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 999\r\n\r\n")}}) {
    const auto server = start(options, echo);
    const Stopwatch watch;
    auto client = RawSocket::connect_to(server->port());
    client.send(begin);
    // The body lasts as long as the test: a deadline that each byte postponed would never come.
    std::jthread drip([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && client.send("x")) std::this_thread::sleep_for(milliseconds(20));
    });
    EXPECT_THAT(client.read_until(kEndOfHead), StartsWith("HTTP/1.1 408"));
    EXPECT_GE(watch.elapsed(), kSoon);
    drip.request_stop();
    drip.join();
    client.read_to_end();
    EXPECT_TRUE(client.has_ended());
  }
}

// A write continues with each part that the client takes.
TEST(HttpServer, CutsAClientThatTakesItsReplyForTooLong) {
  auto options = unhurried();
  options.reply_deadline = kSoon;
  std::atomic<bool> is_over = false;
  const auto server = start(options, [&](const auto&, Responder responder) {
    const auto reply = responder.stream(200, {});
    const std::string piece(100'000, 'p');
    while (reply->write(piece)) {
    }
    is_over = true;
  });
  auto client = RawSocket::connect_to(server->port());
  client.send(kGet);
  EXPECT_TRUE(becomes_true([&] {
    client.read_exactly(50'000, milliseconds(1));
    return is_over.load();
  }));
  client.read_to_end();
  EXPECT_TRUE(client.has_ended());
}

TEST(HttpServer, ClosesIdleConnections) {
  auto options = unhurried();
  options.idle_deadline = kSoon;
  const auto server = start(options, echo);
  auto silent = RawSocket::connect_to(server->port());
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_TRUE(silent.has_ended());
  std::optional<RawSocket> used;
  ASSERT_TRUE(becomes_true([&] {  // on a busy machine a connection may be idle before it asks
    used.emplace(RawSocket::connect_to(server->port()));
    used->send(kGet);
    return used->read_until(kEndOfHead).starts_with("HTTP/1.1 200");
  }));
  EXPECT_EQ(used->read_to_end(), "GET / ");
  EXPECT_TRUE(used->has_ended());
}

TEST(HttpServer, DoesNotCloseALongPollAsIdle) {
  Parking parking;
  auto options = unhurried();
  options.idle_deadline = kSoon;
  const auto server = start(options, parking.handler());
  std::optional<RawSocket> client;
  ASSERT_TRUE(becomes_true([&] {  // on a busy machine a connection may be idle before it asks
    client.emplace(RawSocket::connect_to(server->port()));
    client->send(kGet);
    return becomes_true([&] {
             client->read_exactly(1, milliseconds(1));
             return parking.size() == 1 || client->has_ended();
           }) &&
           parking.size() == 1;
  }));
  EXPECT_EQ(client->read_exactly(1, 3 * kSoon), "");
  EXPECT_FALSE(client->has_ended());
  parking.take().send({.body = "late"});
  EXPECT_THAT(client->read_until("late"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, Answers503OverItsConnections) {
  Parking parking;
  const auto server = start({.connections_max = 2}, parking.handler());
  std::optional<RawSocket> first(RawSocket::connect_to(server->port()));
  auto second = RawSocket::connect_to(server->port());
  first->send(kGet);
  ASSERT_TRUE(becomes_true([&] { return parking.size() == 1; }));
  second.send(kGet);
  ASSERT_TRUE(becomes_true([&] { return parking.size() == 2; }));
  EXPECT_THAT(talk(*server, kGet), StartsWith("HTTP/1.1 503"));
  first.reset();
  parking.take().send({});
  EXPECT_TRUE(becomes_true([&] {
    auto third = RawSocket::connect_to(server->port());
    third.send(kGet);
    return becomes_true([&] {
             third.read_exactly(1, milliseconds(1));
             return parking.size() == 2 || third.has_ended();
           }) &&
           parking.size() == 2;
  })) << "the place of the first one is free";
}

}  // namespace
}  // namespace ratoon::http::testing::server_limits
