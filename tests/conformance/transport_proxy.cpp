// The conformance suite, part 4: calls through a proxy, by CONNECT of HTTP and by SOCKS5.
#include <array>
#include <mutex>
#include <thread>

#include <poll.h>
#include <sys/socket.h>

#include "tests/conformance/support/raw_socket.h"
#include "tests/conformance/transport_conformance.h"

namespace ratoon::http::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Copies bytes in both directions until one side closes.
void relay(const RawSocket& one, const RawSocket& other) {
  std::array<char, 16 * 1024> bytes{};
  while (true) {
    pollfd entries[] = {{one.fd(), POLLIN, 0}, {other.fd(), POLLIN, 0}};
    if (::poll(entries, 2, static_cast<int>(kPatience.count())) <= 0) return;
    for (int i = 0; i < 2; ++i) {
      if (entries[i].revents == 0) continue;
      const auto got = ::recv(entries[i].fd, bytes.data(), bytes.size(), 0);
      if (got <= 0) return;
      if (!(i == 0 ? other : one).send({bytes.data(), static_cast<std::size_t>(got)})) return;
    }
  }
}

// A proxy that connects every client to the test's own server, whatever name the client asks for.
class TestProxy {
 public:
  enum class Kind { kHttp, kSocks5 };

  TestProxy(Kind kind, std::uint16_t target, bool needs_login = false)
      : target_(target), needs_login_(needs_login), server_([this, kind](RawSocket& peer, int) {
          if (kind == Kind::kHttp ? accept_http(peer) : accept_socks(peer)) forward(peer);
        }) {}

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(server_.port()); }
  [[nodiscard]] int connection_count() const { return server_.connection_count(); }
  [[nodiscard]] std::string asked_for() {
    const std::lock_guard lock(mutex_);
    return asked_for_;
  }

 private:
  void note(std::string text) {
    const std::lock_guard lock(mutex_);
    asked_for_ = std::move(text);
  }

  bool accept_http(RawSocket& peer) {
    const std::string head = peer.read_until("\r\n\r\n");
    note(head.substr(0, head.find('\r')));
    const bool has_login = head.find("\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n") != std::string::npos;
    if (needs_login_ && !has_login) {
      peer.send("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
      return false;
    }
    return peer.send("HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n");
  }

  bool accept_socks(RawSocket& peer) {
    const std::string methods = peer.read_exactly(2);
    const std::string offered = peer.read_exactly(static_cast<std::size_t>(methods.at(1)));
    if (!needs_login_) {
      peer.send(std::string("\x05\x00", 2));
    } else if (offered.find('\x02') == std::string::npos) {
      peer.send("\x05\xff");
      return false;
    } else {
      peer.send("\x05\x02");
      const bool is_right = peer.read_exactly(9) == "\x01\x02me\x04p@ss";
      peer.send(is_right ? std::string("\x01\x00", 2) : "\x01\x01");
      if (!is_right) return false;
    }
    const std::string request = peer.read_exactly(5);
    const std::string rest = peer.read_exactly(static_cast<std::size_t>(request.at(4)) + 2);
    note(rest.substr(0, rest.size() - 2) + ":" +
         std::to_string(static_cast<unsigned char>(rest[rest.size() - 2]) * 256 +
                        static_cast<unsigned char>(rest.back())));
    return peer.send(std::string("\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x01", 10));
  }

  void forward(const RawSocket& peer) const { relay(peer, RawSocket::connect_to(target_)); }

  const std::uint16_t target_;
  const bool needs_login_;
  std::mutex mutex_;
  std::string asked_for_;  // guarded by mutex_
  ScriptedServer server_;  // last: its threads use the members above
};

TEST_P(TlsConformance, ReachesATlsServerByItsNameThroughBothKindsOfProxy) {
  const auto port = serve_tls(authority_.issue({.alternative_names = "DNS:api.example"}));
  for (const auto kind : {TestProxy::Kind::kHttp, TestProxy::Kind::kSocks5}) {
    TestProxy proxy(kind, server_->port());
    const bool is_http = kind == TestProxy::Kind::kHttp;
    const auto transport = make({.tls = {.ca_pem = authority_.ca_pem()},
                                 .proxy = (is_http ? "http://" : "socks5://") + proxy.address()});
    for (int i = 0; i < 3; ++i) {
      const auto reply = transport->call({.url = "https://api.example:" + port + "/"}, patient(), {});
      ASSERT_TRUE(reply) << describe(reply);
      EXPECT_EQ(reply->body, "secret");
    }
    EXPECT_EQ(proxy.asked_for(),
              is_http ? "CONNECT api.example:" + port + " HTTP/1.1" : "api.example:" + port);
    EXPECT_EQ(proxy.connection_count(), 1) << "the tunnel is kept open between calls";
  }
}

TEST_P(TlsConformance, SendsUserAndPasswordOfTheProxysUrl) {
  const auto url = serve([](ServerRequest, Responder responder) { responder.send({.body = "here"}); });
  for (const auto kind : {TestProxy::Kind::kHttp, TestProxy::Kind::kSocks5}) {
    TestProxy proxy(kind, server_->port(), /*needs_login=*/true);
    const std::string scheme = kind == TestProxy::Kind::kHttp ? "http://" : "socks5://";
    const auto reply =
        make({.proxy = scheme + "me:p%40ss@" + proxy.address()})->call({.url = url}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
    EXPECT_EQ(reply->body, "here");
    const auto refused = make({.proxy = scheme + proxy.address()})->call({.url = url}, patient(), {});
    EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied, refused);
    EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("through the proxy " + proxy.address()),
                                                 HasSubstr("password"), HasSubstr("in its URL")));
  }
}

TEST_P(TlsConformance, ReportsAProxyThatAnswersWrongly) {
  struct Case {
    std::string reply;
    ErrorKind kind;
    std::string part;
  };
  for (const auto& [answer, kind, part] :
       {Case{"HTTP/1.1 403 Forbidden\r\n\r\n", ErrorKind::kPermissionDenied, "'403 Forbidden'"},
        Case{"HTTP/1.1 502 Bad\x01Gateway\r\n\r\n", ErrorKind::kUnavailable, "'502 Bad?Gateway'"},
        Case{"SSH-2.0-server\r\n\r\n", ErrorKind::kInvalid, "an HTTP proxy listens"},
        Case{std::string(20'000, 'x'), ErrorKind::kInvalid, "longer than 16 KiB"}}) {
    const ScriptedServer proxy(answering(answer));
    const std::string address = "127.0.0.1:" + std::to_string(proxy.port());
    const auto reply =
        make({.proxy = "http://" + address})->call({.url = "http://api.example/"}, patient(), {});
    EXPECT_FAILS_WITH(kind, reply);
    EXPECT_THAT(reply.error().message(),
                AllOf(HasSubstr("api.example"), HasSubstr(address), HasSubstr(part)));
  }
  for (const auto& [answer, kind, part] :
       {Case{"HTTP", ErrorKind::kInvalid, "a SOCKS5 proxy listens"},
        Case{std::string("\x05\x00\x05\x05\x00\x01", 6), ErrorKind::kUnavailable, "refused the connection"},
        Case{std::string("\x05\x00\x05\x02\x00\x01", 6), ErrorKind::kPermissionDenied,
             "rules do not allow"}}) {
    const ScriptedServer proxy([&answer](RawSocket& peer, int) {
      peer.read_exactly(3);
      peer.send(answer);
      peer.read_to_end();
    });
    const std::string url = "socks5://127.0.0.1:" + std::to_string(proxy.port());
    const auto reply = make({.proxy = url})->call({.url = "http://api.example/"}, patient(), {});
    EXPECT_FAILS_WITH(kind, reply);
    EXPECT_THAT(reply.error().message(), HasSubstr(part));
  }
}

TEST_P(TlsConformance, GivesUpOnASilentProxyAndOnAStopRequest) {
  const ScriptedServer silent([](RawSocket& peer, int) { peer.read_to_end(); });
  const Limits short_limits{.connect = std::chrono::milliseconds(50)};
  const auto late = make({.proxy = "http://127.0.0.1:" + std::to_string(silent.port())})
                        ->call({.url = "http://api.example/"}, short_limits, {});
  EXPECT_FAILS_WITH(ErrorKind::kTimeout, late);

  const ScriptedServer waiting([](RawSocket& peer, int) { peer.read_to_end(); });
  std::stop_source stop;
  std::jthread stopper([&] {
    while (waiting.connection_count() == 0) std::this_thread::yield();
    stop.request_stop();
  });
  const Limits none{.total = {}, .silence = {}, .connect = {}};
  const auto stopped = make({.proxy = "http://127.0.0.1:" + std::to_string(waiting.port())})
                           ->call({.url = "http://api.example/"}, none, stop.get_token());
  EXPECT_FAILS_WITH(ErrorKind::kCancelled, stopped);
}

TEST_P(TlsConformance, RefusesTheUrlOfAProxyWithoutItsPassword) {
  for (const std::string bad :
       {"proxy:3128", "https://u:hidden@proxy", "ftp://u:hidden@proxy", "http://", "http://u:hidden%4@proxy",
        "http://:hidden@proxy", "http://u:hidden@proxy/path", "socks5://u:hidden@proxy:99999"}) {
    const auto reply = make({.proxy = bad})->call({.url = "http://127.0.0.1:1/"}, patient(), {});
    EXPECT_FAILS_WITH(ErrorKind::kInvalid, reply);
    EXPECT_THAT(reply.error().message(), AllOf(HasSubstr("the proxy"), ::testing::Not(HasSubstr("hidden"))))
        << bad;
  }
}

}  // namespace
}  // namespace ratoon::http::testing
