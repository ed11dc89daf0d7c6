// The conformance suite, part 1: correct requests and replies.
#include <atomic>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include "tests/conformance/transport_conformance.h"

namespace ratoon::http::testing::transport_basics {
namespace {

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
  return text;
}

class StringSource final : public BodySource {
 public:
  StringSource(std::string text, std::size_t claimed_size)
      : text_(std::move(text)), claimed_size_(claimed_size) {}
  std::size_t size_bytes() const override { return claimed_size_; }
  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t size = std::min({into.size(), text_.size() - offset_, std::size_t{7'000}});
    text_.copy(into.data(), size, offset_);
    offset_ += size;
    return size;
  }

 private:
  std::string text_;
  std::size_t claimed_size_;
  std::size_t offset_ = 0;
};

TEST_P(TransportConformance, ReturnsEveryStatusAndFollowsNoRedirect) {
  const auto url = serve([](ServerRequest request, Responder responder) {
    responder.send(
        {.status = std::stoi(request.path.substr(1)), .headers = {{"Location", "/elsewhere"}}, .body = "b"});
  });
  const auto transport = make();
  for (const int status : {200, 201, 204, 301, 302, 304, 307, 400, 401, 404, 409, 410, 422, 429, 500, 503}) {
    const auto reply = transport->call({.url = url + "/" + std::to_string(status)}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
    EXPECT_EQ(reply->status, status);
    EXPECT_EQ(reply->body, status == 204 || status == 304 ? "" : "b");
    EXPECT_EQ(reply->headers.get("LOCATION"), "/elsewhere");
  }
}

TEST_P(TransportConformance, SendsMethodsHeadersAndBodies) {
  const auto url = serve([](ServerRequest request, Responder responder) {
    responder.send({.headers = {{"X-Method", request.method},
                                {"X-Type", std::string(request.headers.get("Content-Type"))},
                                {"X-Length", std::string(request.headers.get("Content-Length"))},
                                {"X-Host", std::string(request.headers.get("Host"))}},
                    .body = request.body});
  });
  const auto transport = make();
  for (const std::string method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    for (const std::string body : {"", "{}"}) {
      const auto reply = transport->call(
          {.method = method, .url = url, .headers = {{"Content-Type", "application/json"}}, .body = body},
          patient(), {});
      ASSERT_TRUE(reply) << describe(reply);
      EXPECT_EQ(reply->headers.get("X-Method"), method);
      EXPECT_EQ(reply->headers.get("X-Type"), "application/json");
      EXPECT_EQ(reply->headers.get("X-Host"), url.substr(7));
      EXPECT_EQ(reply->body, body);
      const bool has_length = !body.empty() || (method != "GET" && method != "DELETE");
      EXPECT_EQ(reply->headers.get("X-Length"), has_length ? std::to_string(body.size()) : "") << method;
    }
  }
}

TEST_P(TransportConformance, CarriesBigBodiesBothWays) {
  const auto url =
      serve([](ServerRequest request, Responder responder) { responder.send({.body = request.body}); },
            {.body_bytes_max = 8 << 20});
  const std::string body = pattern(5'000'001);
  const auto transport = make();
  for (const std::string method : {"POST", "PUT"}) {
    const auto reply = transport->call({.method = method, .url = url, .body = body}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
    EXPECT_TRUE(reply->body == body);
  }
  StringSource source(body, body.size());
  const auto reply = transport->call({.method = "PUT", .url = url, .body_source = &source}, patient(), {});
  ASSERT_TRUE(reply) << describe(reply);
  EXPECT_TRUE(reply->body == body);
}

TEST_P(TransportConformance, GivesUpWhenABodySourceEndsEarlyOrFails) {
  const auto url = serve([](ServerRequest, Responder responder) { responder.send({}); });
  const auto transport = make();
  StringSource short_source("only this", 100'000);
  EXPECT_FAILS_WITH(
      ErrorKind::kInvalid,
      transport->call({.method = "PUT", .url = url, .body_source = &short_source}, patient(), {}));

  struct FailingSource final : BodySource {
    std::size_t size_bytes() const override { return 10; }
    Result<std::size_t> read(std::span<char>) override { return Error(ErrorKind::kCorrupted, "bad block"); }
  } failing;
  EXPECT_FAILS_WITH(ErrorKind::kCorrupted,
                    transport->call({.method = "PUT", .url = url, .body_source = &failing}, patient(), {}));
}

TEST_P(TransportConformance, SendsEscapedPathsUnchanged) {
  const auto url = serve([](ServerRequest request, Responder responder) {
    responder.send({.body = request.path + (request.query.empty() ? "" : "?" + request.query)});
  });
  const auto transport = make();
  for (const std::string target :
       {"/", "/a%2Fb//c;x=1/%E2%82%AC", "//two/slashes", "/dots/../and/./dots", "/tail/",
        "/q?x=%2B+1&y=&z=a%26b/?", "/labels?labelSelector=ratoon.dev%2Fjob%3Da%2Cb%21%3Dc",
        "/~tilde_-.!$&'()*+,;=:@"}) {
    const auto reply = transport->call({.url = url + target}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
    EXPECT_EQ(reply->body, target);
  }
}

TEST_P(TransportConformance, ReadsNoBodyAfterHead) {
  const auto url = serve([](ServerRequest request, Responder responder) {
    responder.send(
        {.headers = {{"Content-Length", "123456789"}}, .body = request.method == "HEAD" ? "" : "body"});
  });
  const auto transport = make();
  for (int i = 0; i < 2; ++i) {
    const auto head = transport->call({.method = "HEAD", .url = url}, patient(), {});
    ASSERT_TRUE(head) << describe(head);
    EXPECT_EQ(head->headers.get("Content-Length"), "123456789");
    EXPECT_EQ(head->body, "");
    const auto reply = transport->call({.url = url}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
    EXPECT_EQ(reply->body, "body");
  }
}

TEST_P(TransportConformance, HandsOverEveryChunkAtOnce) {
  constexpr int kChunks = 20;
  std::atomic<int> received{0};
  const auto url = serve([&](ServerRequest, Responder responder) {
    auto writer = responder.stream(200, {});
    for (int i = 0; i < kChunks; ++i) {
      ASSERT_TRUE(writer->write("event " + std::to_string(i) + "\n"));
      while (received <= i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    writer->finish();
  });
  RecordingSink sink([&](std::string_view) {
    ++received;
    return Result<void>();
  });
  const auto head = make()->stream({.url = url}, patient(), sink, {});
  ASSERT_TRUE(head) << describe(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(received, kChunks);
  EXPECT_TRUE(sink.body.ends_with("event 19\n"));
}

TEST_P(TransportConformance, StreamsMoreThanItsBodyLimitToASlowReader) {
  const std::string piece = pattern(50'000);
  const auto url = serve([&](ServerRequest, Responder responder) {
    auto writer = responder.stream(200, {});
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(writer->write(piece));
    writer->finish();
  });
  Limits limits = patient();
  limits.body_bytes_max = 1'000'000;
  RecordingSink sink;
  const auto head = make()->stream({.url = url}, limits, sink, {});
  ASSERT_TRUE(head) << describe(head);
  EXPECT_EQ(sink.body.size(), 5'000'000);
}

// One chunk of that size is far over the limit of the head, and arrives together with the head.
TEST_P(TransportConformance, TakesAReplyOfOneBigChunk) {
  const std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n989680\r\n" +
                           std::string(10'000'000, 'c') + "\r\n0\r\n\r\n";
  ScriptedServer server([&](RawSocket& peer, int) {
    while (!peer.read_until("\r\n\r\n").empty()) peer.send(text);
  });
  const auto transport = make();
  for (int i = 0; i < 5; ++i) {
    const auto reply = transport->call({.url = server.url()}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
    EXPECT_EQ(reply->body.size(), 10'000'000);
  }
}

TEST_P(TransportConformance, EndsTheCallWithTheSinksError) {
  const auto url = serve([](ServerRequest, Responder responder) {
    auto writer = responder.stream(200, {});
    while (writer->write("more\n")) {
    }
  });
  const auto transport = make();
  RecordingSink sink([](std::string_view) { return Error(ErrorKind::kNoSpace, "the disk is full"); });
  const auto head = transport->stream({.url = url}, patient(), sink, {});
  EXPECT_FAILS_WITH(ErrorKind::kNoSpace, head);
  EXPECT_EQ(head.error().message(), "the disk is full");
}

TEST_P(TransportConformance, ServesManyCallsAtOnce) {
  const auto url =
      serve([](ServerRequest request, Responder responder) { responder.send({.body = request.path}); });
  const auto transport = make({.idle_connections_max = 4});
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 24; ++c) {
      callers.emplace_back([&, c] {
        for (int i = 0; i < 20; ++i) {
          const std::string path = "/" + std::to_string(c) + "/" + std::to_string(i);
          const auto reply = transport->call({.url = url + path}, patient(), {});
          EXPECT_TRUE(reply) << describe(reply);
          if (reply && reply->body == path) ++right;
        }
      });
    }
  }
  EXPECT_EQ(right, 24 * 20);
}

TEST_P(TransportConformance, KeepsConnectionsOpen) {
  ScriptedServer server([](RawSocket& peer, int) {
    while (!peer.read_until("\r\n\r\n").empty()) peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  const auto transport = make();
  for (int i = 0; i < 50; ++i) {
    const auto reply = transport->call({.url = server.url()}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
  }
  EXPECT_EQ(server.connection_count(), 1);
}

TEST_P(TransportConformance, ReplacesAnIdleConnectionThatTheServerClosed) {
  std::binary_semaphore is_closed{0};
  ScriptedServer server([&](RawSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    peer.close_writing();
    EXPECT_TRUE(peer.wait_until_received());
    is_closed.release();
  });
  const auto transport = make();
  for (const std::string method : {"GET", "POST", "GET", "POST"}) {
    const auto reply = transport->call({.method = method, .url = server.url()}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
    is_closed.acquire();
  }
  EXPECT_EQ(server.connection_count(), 4);
}

TEST_P(TransportConformance, RepeatsOnlyIdempotentCallsWhenAKeptConnectionBreaksUnderThem) {
  struct Case {
    std::string method;
    bool is_repeated;
    bool is_reset;
  };
  for (const auto& [method, is_repeated, is_reset] :
       {Case{"GET", true, true}, Case{"GET", true, false}, Case{"HEAD", true, true}, Case{"PUT", true, false},
        Case{"DELETE", true, true}, Case{"POST", false, true}, Case{"POST", false, false},
        Case{"PATCH", false, false}}) {
    std::mutex mutex;
    std::vector<std::string> requests;
    ScriptedServer server([&, is_reset = is_reset](RawSocket& peer, int number) {
      for (int i = 0; i < 2; ++i) {
        const std::string head = peer.read_until("\r\n\r\n");
        if (head.empty()) return;
        const std::lock_guard lock(mutex);
        requests.push_back(head);
        if (number == 1 && i == 1) {  // the second request of the first connection
          if (is_reset) peer.reset();
          return;
        }
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      }
    });
    const auto transport = make();
    ASSERT_TRUE(transport->call({.url = server.url()}, patient(), {}));
    const auto reply = transport->call({.method = method, .url = server.url("/again")}, patient(), {});
    EXPECT_EQ(reply.has_value(), is_repeated) << method << " " << describe(reply);
    if (!reply) {
      EXPECT_EQ(reply.error().kind(), ErrorKind::kUnavailable);
    }
    const std::lock_guard lock(mutex);
    EXPECT_EQ(requests.size(), is_repeated ? 3 : 2) << method;
  }
}

TEST_P(TransportConformance, NeverTakesSurplusBytesForTheNextReply) {
  std::binary_semaphore is_taken{0};
  std::binary_semaphore is_poisoned{0};
  ScriptedServer server([&](RawSocket& peer, int number) {
    while (!peer.read_until("\r\n\r\n").empty()) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + std::to_string(number));
      if (number > 1) continue;
      is_taken.acquire();
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
      EXPECT_TRUE(peer.wait_until_received());
      is_poisoned.release();
    }
  });
  const auto transport = make();
  const auto first = transport->call({.url = server.url()}, patient(), {});
  is_taken.release();
  ASSERT_TRUE(first) << describe(first);
  EXPECT_EQ(first->body, "1");
  is_poisoned.acquire();
  const auto second = transport->call({.url = server.url()}, patient(), {});
  ASSERT_TRUE(second) << describe(second);
  EXPECT_EQ(second->body, "2");
}

TEST_P(TransportConformance, RefusesRequestsThatWouldSmuggleALine) {
  std::atomic<int> requests{0};
  const auto url = serve([&](ServerRequest, Responder responder) {
    ++requests;
    responder.send({});
  });
  const auto transport = make();
  for (const auto& value :
       std::vector<std::string>{"a\r\nX-Evil: 1", "a\nb", "a\rb", std::string("a\0b", 3)}) {
    EXPECT_FAILS_WITH(ErrorKind::kInvalid,
                      transport->call({.url = url, .headers = {{"X-Fine", value}}}, patient(), {}));
  }
  EXPECT_FAILS_WITH(ErrorKind::kInvalid,
                    transport->call({.url = url, .headers = {{"X: a\r\nY", "b"}}}, patient(), {}));
  EXPECT_FAILS_WITH(
      ErrorKind::kInvalid,
      transport->call({.url = url, .headers = {{"Transfer-Encoding", "chunked"}}}, patient(), {}));
  EXPECT_FAILS_WITH(ErrorKind::kInvalid,
                    transport->call({.method = "GET / HTTP/1.1\r\nX:", .url = url}, patient(), {}));
  EXPECT_FAILS_WITH(ErrorKind::kInvalid, transport->call({.url = url + "/a\r\nX: b"}, patient(), {}));
  EXPECT_FAILS_WITH(ErrorKind::kInvalid, transport->call({.url = url + "/a b"}, patient(), {}));
  EXPECT_EQ(requests, 0);
}

TEST_P(TransportConformance, RefusesBadUrlsAndHidesQueries) {
  const auto transport = make();
  for (const std::string url :
       {"", "/path", "ftp://127.0.0.1/", "http://", "http://:80/", "http://127.0.0.1:0/",
        "http://127.0.0.1:99999/", "http://127.0.0.1:+80/", "http://user:secret@127.0.0.1/",
        "http://127.0.0.1/#part", "http://[::1/", "http://[nonsense]/"}) {
    const auto reply = transport->call({.url = url}, patient(), {});
    EXPECT_FAILS_WITH(ErrorKind::kInvalid, reply);
    EXPECT_EQ(reply.error().message().find("secret@"), std::string::npos);
  }
  const Listener deaf;
  const auto port = deaf.port;
  Limits limits = patient();
  limits.total = std::chrono::milliseconds(50);
  const auto reply =
      transport->call({.url = "http://127.0.0.1:" + std::to_string(port) + "/p?token=secret"}, limits, {});
  EXPECT_FAILS_WITH(ErrorKind::kTimeout, reply);
  EXPECT_THAT(reply.error().message(),
              ::testing::HasSubstr("GET http://127.0.0.1:" + std::to_string(port) + "/p"));
  EXPECT_THAT(reply.error().message(), ::testing::Not(::testing::HasSubstr("secret")));
}

TEST_P(TransportConformance, FindsServersByName) {
  const auto url = serve([](ServerRequest, Responder responder) { responder.send({.body = "found"}); });
  const auto transport = make();
  const auto reply =
      transport->call({.url = "http://localhost:" + std::to_string(server_->port())}, patient(), {});
  ASSERT_TRUE(reply) << describe(reply);
  EXPECT_EQ(reply->body, "found");
  EXPECT_FAILS_WITH(ErrorKind::kUnavailable,
                    transport->call({.url = "http://no-such-host.invalid/"}, patient(), {}));
}

TEST_P(TransportConformance, ReachesIpv6Addresses) {
  auto server = HttpServer::start({.address = "::1"}, [](ServerRequest request, Responder responder) {
    responder.send({.body = std::string(request.headers.get("Host"))});
  });
  if (!server) GTEST_SKIP() << "no IPv6 on loopback here: " << server.error().message();
  const std::string host = "[::1]:" + std::to_string((*server)->port());
  const auto reply = make()->call({.url = "http://" + host + "/"}, patient(), {});
  ASSERT_TRUE(reply) << describe(reply);
  EXPECT_EQ(reply->body, host);
}

}  // namespace
}  // namespace ratoon::http::testing::transport_basics
