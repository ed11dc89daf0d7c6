// The conformance suite, part 2: every call is bounded in time and memory, and ends at once when a stop is
// requested.
#include <atomic>
#include <future>
#include <semaphore>
#include <thread>

#include "tests/conformance/transport_conformance.h"

namespace ratoon::http::testing::transport_limits {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kFlood = 100 << 20;

TEST_P(TransportConformance, EndsAtItsTotalDeadlineWhateverComes) {
  Limits limits = unlimited();
  limits.total = milliseconds(200);
  ScriptedServer silent([](RawSocket& peer, int) { peer.read_to_end(kNever); });
  ScriptedServer dripping([](RawSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    while (peer.send("x")) std::this_thread::sleep_for(milliseconds(10));
  });
  for (const auto& url : {silent.url(), dripping.url()}) {
    const Stopwatch watch;
    EXPECT_FAILS_WITH(ErrorKind::kTimeout, make()->call({.url = url}, limits, {}));
    EXPECT_GE(watch.elapsed(), milliseconds(200));
  }
}

TEST_P(TransportConformance, EndsAfterSilenceButNotWhileBytesTrickle) {
  Limits limits = unlimited();
  limits.silence = milliseconds(200);
  ScriptedServer trickling([](RawSocket& peer, int) {  // for longer in all than silence may last
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(milliseconds(50));
      peer.send("1\r\nx\r\n");
    }
    peer.send("0\r\n\r\n");
  });
  // A busy machine may turn a trickle into real silence: one good call of several shows that bytes count.
  auto reply = make()->call({.url = trickling.url()}, limits, {});
  for (int i = 0; i < 50 && !reply; ++i) {
    EXPECT_EQ(reply.error().kind(), ErrorKind::kTimeout) << describe(reply);
    reply = make()->call({.url = trickling.url()}, limits, {});
  }
  ASSERT_TRUE(reply) << describe(reply);
  EXPECT_EQ(reply->body, "xxxxxxxxxx");

  for (const std::string start :
       {"", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"}) {
    ScriptedServer stalling(answering(start));
    const Stopwatch watch;
    EXPECT_FAILS_WITH(ErrorKind::kTimeout, make()->call({.url = stalling.url()}, limits, {}));
    EXPECT_GE(watch.elapsed(), milliseconds(190));
  }
}

// Reads a request's head and nothing more until the test is done with it.
class UnwillingServer {
 public:
  ~UnwillingServer() { done_.release(); }
  std::string url() const { return server_.url(); }

 private:
  std::binary_semaphore done_{0};
  ScriptedServer server_{[this](RawSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    done_.acquire();
  }};
};

// More bytes than the buffers of both sides hold.
const std::string kBigBody(24 << 20, 'b');

TEST_P(TransportConformance, EndsAfterSilenceWhenTheServerStopsTakingTheBody) {
  Limits limits = unlimited();
  limits.silence = milliseconds(200);
  const UnwillingServer server;
  const Request request{.method = "POST", .url = server.url(), .body = kBigBody};
  EXPECT_FAILS_WITH(ErrorKind::kTimeout, make()->call(request, limits, {}));
}

// A watch is allowed to be silent for longer than every default. Scaled: 1.2 s with bounds of 0 for 10
// minutes.
TEST_P(TransportConformance, KeepsASilentWatchWithoutBounds) {
  ScriptedServer server([](RawSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
    std::this_thread::sleep_for(milliseconds(1200));
    peer.send("4\r\nlast\r\n0\r\n\r\n");
  });
  Limits limits = patient();
  limits.total = Duration::zero();
  limits.silence = Duration::zero();
  RecordingSink sink;
  const auto head = make()->stream({.url = server.url()}, limits, sink, {});
  ASSERT_TRUE(head) << describe(head);
  EXPECT_EQ(sink.body, "firstlast");
}

TEST_P(TransportConformance, SaysThatNobodyListens) {
  const ClosedPort place;
  const auto reply = make()->call({.url = "http://127.0.0.1:" + std::to_string(place.port)}, unlimited(), {});
  EXPECT_FAILS_WITH(ErrorKind::kUnavailable, reply);
  EXPECT_THAT(reply.error().message(), ::testing::HasSubstr("refused"));
}

// A listener whose queue is full: connections to it neither succeed nor fail.
struct DeafListener {
  Listener listener{0};
  RawSocket first = RawSocket::connect_to(listener.port);
  std::string url() const { return "http://127.0.0.1:" + std::to_string(listener.port); }
};

TEST_P(TransportConformance, EndsAtTheConnectDeadline) {
  const DeafListener deaf;
  Limits limits = unlimited();
  limits.connect = milliseconds(150);
  const Stopwatch watch;
  EXPECT_FAILS_WITH(ErrorKind::kTimeout, make()->call({.url = deaf.url()}, limits, {}));
  EXPECT_GE(watch.elapsed(), milliseconds(150));
}

// --- Cancellation

// The time limit of calls that would not end by themselves.
template <class Call>
void expect_cancellation(milliseconds after, Call call) {
  std::stop_source source;
  auto running = std::async(std::launch::async, [&] { return call(source.get_token()); });
  ASSERT_EQ(running.wait_for(after), std::future_status::timeout) << "the call ended by itself";
  source.request_stop();
  const auto result = running.get();
  EXPECT_FAILS_WITH(ErrorKind::kCancelled, result);
}

TEST_P(TransportConformance, CancelsWhileConnecting) {
  const DeafListener deaf;
  const auto transport = make();
  expect_cancellation(milliseconds(50), [&](std::stop_token stop) {
    return transport->call({.url = deaf.url()}, unlimited(), stop);
  });
}

TEST_P(TransportConformance, CancelsWhileWaitingForTheHead) {
  ScriptedServer server([](RawSocket& peer, int) { peer.read_to_end(kNever); });
  const auto transport = make();
  expect_cancellation(milliseconds(50), [&](std::stop_token stop) {
    return transport->call({.url = server.url()}, unlimited(), stop);
  });
}

TEST_P(TransportConformance, CancelsInTheMiddleOfABody) {
  ScriptedServer server(answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"));
  ScriptedServer watch(answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"));
  const auto transport = make();
  for (const auto& url : {server.url(), watch.url()}) {
    expect_cancellation(milliseconds(50), [&](std::stop_token stop) {
      RecordingSink sink;
      return transport->stream({.url = url}, unlimited(), sink, stop);
    });
  }
}

TEST_P(TransportConformance, CancelsWhileSending) {
  const UnwillingServer server;
  const Request request{.method = "PUT", .url = server.url(), .body = kBigBody};
  const auto transport = make();
  expect_cancellation(milliseconds(100),
                      [&](std::stop_token stop) { return transport->call(request, unlimited(), stop); });
}

TEST_P(TransportConformance, CancelsOnAKeptConnection) {
  ScriptedServer server([](RawSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    peer.read_until("\r\n\r\n");
    peer.read_to_end(kNever);
  });
  const auto transport = make();
  ASSERT_TRUE(transport->call({.url = server.url()}, patient(), {}));
  expect_cancellation(milliseconds(50), [&](std::stop_token stop) {
    return transport->call({.url = server.url()}, unlimited(), stop);
  });
  EXPECT_EQ(server.connection_count(), 1);
}

TEST_P(TransportConformance, DoesNotBeginWhenAlreadyCancelled) {
  ScriptedServer server(answering(""));
  std::stop_source source;
  source.request_stop();
  EXPECT_FAILS_WITH(ErrorKind::kCancelled,
                    make()->call({.url = server.url()}, patient(), source.get_token()));
  EXPECT_EQ(server.connection_count(), 0);
}

// --- Replies without end

// Bytes that are not HTTP from the first one on may be refused before their length exceeds the limit.
auto is_flood_or_no_http(const char* limit) {
  return ::testing::AnyOf(::testing::HasSubstr(std::string("limit of ") + limit),
                          ::testing::HasSubstr("not HTTP/1.1 (bad "));
}

TEST_P(TransportConformance, BoundsTheReplyHead) {
  const std::string line = "X-Padding: " + std::string(65'000, 'p') + "\r\n";
  const std::string word(65'536, 'w');
  struct Shape {
    std::string start, flood;
  };
  for (const auto& [start, flood] :
       {Shape{"HTTP/1.1 200 OK\r\n", line}, Shape{"HTTP/1.1 200 OK\r\nX-Long: ", word}, Shape{"", word}}) {
    std::atomic<std::size_t> sent{0};
    const MemoryPeak memory;
    {
      ScriptedServer server([&](RawSocket& peer, int) {
        peer.read_until("\r\n\r\n");
        peer.send(start);
        sent = peer.send_flood(flood, kFlood);
        peer.send("\r\n\r\n");
      });
      const auto reply = make()->call({.url = server.url()}, patient(), {});
      EXPECT_FAILS_WITH(ErrorKind::kInvalid, reply);
      EXPECT_THAT(reply.error().message(), is_flood_or_no_http("65536 bytes"));
    }
    EXPECT_LT(sent, kFlood);
    EXPECT_LT(memory.growth_mib(), kFewMib);
  }
}

TEST_P(TransportConformance, BoundsTheReplyHeadExactly) {
  for (const auto& [padding, is_accepted] : {std::pair{3'900, true}, std::pair{4'200, false}}) {
    ScriptedServer server(answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Padding: " +
                                    std::string(static_cast<std::size_t>(padding), 'p') + "\r\n\r\n"));
    Limits limits = patient();
    limits.head_bytes_max = 4'096;
    const auto reply = make()->call({.url = server.url()}, limits, {});
    EXPECT_EQ(reply.has_value(), is_accepted) << describe(reply);
    if (!reply) {
      EXPECT_EQ(reply.error().kind(), ErrorKind::kInvalid);
    }
  }
}

TEST_P(TransportConformance, BoundsTheReplyBody) {
  struct Shape {
    std::string start, flood;
  };
  const std::string word(65'536, 'w');
  for (const auto& [start, flood] :
       {Shape{"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n", word},  // declared
        Shape{"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", word},  // until the end of the connection
        Shape{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
              "400\r\n" + std::string(1024, 'c') + "\r\n"},                               // endless chunks
        Shape{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6400000\r\n", word},  // one endless chunk
        Shape{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
              word},  // a chunk of less than nothing
        Shape{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;",
              word}}) {  // an endless chunk extension
    std::atomic<std::size_t> sent{0};
    const MemoryPeak memory;
    {
      ScriptedServer server([&](RawSocket& peer, int) {
        peer.read_until("\r\n\r\n");
        peer.send(start);
        sent = peer.send_flood(flood, kFlood);
      });
      Limits limits = patient();
      limits.body_bytes_max = 1'000'000;
      const auto reply = make()->call({.url = server.url()}, limits, {});
      EXPECT_FAILS_WITH(ErrorKind::kInvalid, reply);
      EXPECT_THAT(reply.error().message(), is_flood_or_no_http("1000000 bytes"));
    }
    EXPECT_LT(sent, kFlood);
    EXPECT_LT(memory.growth_mib(), kFewMib) << start;
  }
}

// --- Replies cut off or not HTTP

TEST_P(TransportConformance, ReportsRepliesThatAreCutOff) {
  for (const std::string part :
       {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfour",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n"}) {
    for (const bool is_reset : {false, true}) {
      ScriptedServer server([&](RawSocket& peer, int) {
        peer.read_until("\r\n\r\n");
        peer.send(part);
        if (is_reset) peer.reset();
      });
      EXPECT_FAILS_WITH(ErrorKind::kUnavailable, make()->call({.url = server.url()}, patient(), {}));
    }
  }
}

TEST_P(TransportConformance, RefusesWhatIsNotHttp) {
  for (const std::string reply :
       {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "\r\n\r\n", "HTTP/1.1 banana\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n"}) {
    ScriptedServer server(answering(reply));
    EXPECT_FAILS_WITH(ErrorKind::kInvalid, make()->call({.url = server.url()}, unlimited(), {}));
  }
}

}  // namespace
}  // namespace ratoon::http::testing::transport_limits
