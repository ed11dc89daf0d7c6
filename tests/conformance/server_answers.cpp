// HttpServer answers requests, at once or much later.
#include <vector>

#include <sys/resource.h>

#include "tests/conformance/support/server_tests.h"

namespace ratoon::http::testing::server_answers {
namespace {

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
    // If requests were answered at the same time, the answer to the last request arrives first.
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
  // The server does not ask for a body that it refuses.
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
  EXPECT_TRUE(are_threads_at_most(threads_before + 1)) << count_threads();
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

}  // namespace
}  // namespace ratoon::http::testing::server_answers
