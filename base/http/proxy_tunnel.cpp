#include "base/http/proxy_tunnel.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include <openssl/evp.h>

#include "base/core/utf8.h"
#include "base/http/client/connect.h"
#include "base/http/client/direct_stream.h"

namespace ratoon::http {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kHeadBytesMax = 16 * 1024;
constexpr std::size_t kSocks5TextBytesMax = 255;    // of a host, a user or a password in SOCKS5
constexpr std::size_t kShownRefusalBytesMax = 100;  // of the proxy's refusal
constexpr std::uint16_t kDefaultSocksPort = 1080;

constexpr char kSocks5Version = 5;
constexpr char kSocks5LoginVersion = 1;
constexpr char kSocks5NoLogin = 0;
constexpr char kSocks5PasswordLogin = 2;
constexpr char kSocks5Connect = 1;
constexpr char kSocks5Ipv4 = 1;
constexpr char kSocks5DomainName = 3;
constexpr char kSocks5Ipv6 = 4;

Error invalid_proxy_url_error(const std::string& problem) {
  return {ErrorKind::kInvalid,
          "the URL of the proxy " + problem + "; expected http://host:port or socks5://host:port"};
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain.push_back(text[i]);
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2) return std::nullopt;
    plain.push_back(static_cast<char>(value));
    i += 2;
  }
  return plain;
}

std::string base64_of(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL writes a zero behind the text
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

const char* socks_refusal(char code) {
  static constexpr std::array<const char*, 9> kReasons{"no reason",
                                                       "a general failure",
                                                       "its rules do not allow this connection",
                                                       "the network is unreachable",
                                                       "the host is unreachable",
                                                       "the server refused the connection",
                                                       "the time to live expired",
                                                       "it does not support the command",
                                                       "it does not support this kind of address"};
  const auto index = static_cast<std::size_t>(static_cast<unsigned char>(code));
  return index < kReasons.size() ? kReasons[index] : "an unknown reason";
}

// Exchanges messages with the proxy until the proxy has connected to the server.
class ProxyTunnel {
 public:
  ProxyTunnel(const Proxy& proxy, const Url& server, UniqueFd connected, Duration within,
              const std::stop_token& stop)
      : proxy_(proxy),
        server_(server),
        stream_(std::move(connected)),
        notify_(stop, [this] { stream_.notify(); }) {
    DirectStream::Bounds bounds{.deadline = std::nullopt, .stop = stop};
    if (within > Duration::zero()) bounds.deadline = SteadyClock::now() + within;
    stream_.set_bounds(std::move(bounds));
  }

  Result<UniqueFd> open() {
    if (!stream_.is_usable()) return tunnel_error(ErrorKind::kUnavailable, "no file descriptor is left");
    auto opened = proxy_.protocol == ProxyProtocol::kHttp ? open_http() : open_socks();
    if (!opened) return opened.error();
    return stream_.take_socket();
  }

 private:
  Result<void> open_http() {
    const std::string host =
        server_.host.find(':') == std::string::npos ? server_.host : "[" + server_.host + "]";
    const std::string authority = host + ":" + std::to_string(server_.port);
    std::string head = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
    if (!proxy_.user.empty())
      head += "Proxy-Authorization: Basic " + base64_of(proxy_.user + ":" + proxy_.password) + "\r\n";
    if (auto written = write(head + "\r\n"); !written) return written;

    std::string reply;
    while (!reply.ends_with("\r\n\r\n")) {
      if (reply.size() == kHeadBytesMax)
        return tunnel_error(ErrorKind::kInvalid, "the head of its reply is longer than 16 KiB");
      // Reads the proxy's reply byte by byte, so as not to read bytes that the server sends after the reply.
      auto byte = read(1);
      if (!byte) return byte.error();
      reply += *byte;
    }
    const std::string_view line = std::string_view(reply).substr(0, reply.find('\r'));
    if (!line.starts_with("HTTP/1.") || line.size() < 12)
      return tunnel_error(ErrorKind::kInvalid,
                          "its reply is not HTTP/1.1; check that an HTTP proxy listens there");
    const std::string_view status = line.substr(9);
    if (status.starts_with("2")) return {};
    const bool is_login = status.starts_with("407");
    return tunnel_error(
        is_login || status.starts_with("403") ? ErrorKind::kPermissionDenied : ErrorKind::kUnavailable,
        "it refused with '" + printable(status.substr(0, kShownRefusalBytesMax)) +
            (is_login ? "'; give its user and password in its URL" : "'; see the log of the proxy"));
  }

  Result<void> open_socks() {
    const bool has_login = !proxy_.user.empty();
    if (proxy_.user.size() > kSocks5TextBytesMax || proxy_.password.size() > kSocks5TextBytesMax)
      return tunnel_error(ErrorKind::kInvalid, "its user or password is longer than 255 bytes");
    if (server_.host.size() > kSocks5TextBytesMax)
      return tunnel_error(ErrorKind::kInvalid, "the name of the server is longer than 255 bytes");
    if (auto written = write(has_login ? std::string{kSocks5Version, 2, kSocks5NoLogin, kSocks5PasswordLogin}
                                       : std::string{kSocks5Version, 1, kSocks5NoLogin});
        !written)
      return written;
    const auto method = read(2);
    if (!method) return method.error();
    if (method->front() != kSocks5Version)
      return tunnel_error(ErrorKind::kInvalid,
                          "its reply is not SOCKS5; check that a SOCKS5 proxy listens there");
    if ((*method)[1] == kSocks5PasswordLogin && has_login) {
      if (auto logged_in = log_in(); !logged_in) return logged_in;
    } else if ((*method)[1] != kSocks5NoLogin) {
      return tunnel_error(ErrorKind::kPermissionDenied, has_login
                                                            ? "it accepts no user and password"
                                                            : "it needs a user and a password in its URL");
    }
    return request_connection();
  }

  Result<void> log_in() {
    std::string login{kSocks5LoginVersion};
    for (const std::string* text : {&proxy_.user, &proxy_.password}) {
      login.push_back(static_cast<char>(text->size()));
      login += *text;
    }
    if (auto written = write(login); !written) return written;
    const auto reply = read(2);
    if (!reply) return reply.error();
    if ((*reply)[1] == 0) return {};
    return tunnel_error(ErrorKind::kPermissionDenied, "it refused the user and the password of its URL");
  }

  Result<void> request_connection() {
    std::string request{kSocks5Version, kSocks5Connect, 0, kSocks5DomainName,
                        static_cast<char>(server_.host.size())};
    request += server_.host;
    request.push_back(static_cast<char>(server_.port >> 8));
    request.push_back(static_cast<char>(server_.port & 0xff));
    if (auto written = write(request); !written) return written;
    const auto reply = read(4);
    if (!reply) return reply.error();
    if (reply->front() != kSocks5Version) return tunnel_error(ErrorKind::kInvalid, "its reply is not SOCKS5");
    if ((*reply)[1] != 0)
      return tunnel_error((*reply)[1] == 2 ? ErrorKind::kPermissionDenied : ErrorKind::kUnavailable,
                          std::string("it refused: ") + socks_refusal((*reply)[1]));
    return skip_address((*reply)[3]);
  }

  // The proxy's reply has the address from which it connected to the server; skip this unneeded address.
  Result<void> skip_address(char kind) {
    std::size_t size = 0;
    if (kind == kSocks5Ipv4) size = 4;
    if (kind == kSocks5Ipv6) size = 16;
    if (kind == kSocks5DomainName) {
      const auto length = read(1);
      if (!length) return length.error();
      size = static_cast<unsigned char>(length->front());
    }
    if (size == 0) return tunnel_error(ErrorKind::kInvalid, "its reply names an unknown kind of address");
    const auto skipped = read(size + sizeof(std::uint16_t));
    if (!skipped) return skipped.error();
    return {};
  }

  Result<void> write(std::string_view bytes) {
    if (const auto interruption = stream_.write(bytes)) return explain(*interruption);
    return {};
  }

  Result<std::string> read(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t have = 0; have < size;) {
      const auto got = stream_.read(std::span(bytes).subspan(have));
      if (got.interruption) return explain(*got.interruption);
      if (got.size == 0)
        return tunnel_error(ErrorKind::kUnavailable,
                            "it closed the connection; check that a proxy listens there");
      have += got.size;
    }
    return bytes;
  }

  [[nodiscard]] Error explain(const Interruption& interruption) const {
    switch (interruption.cause) {
      case Interruption::Cause::kStopped:
        return tunnel_error(ErrorKind::kCancelled, "the call was cancelled");
      case Interruption::Cause::kLate:
      case Interruption::Cause::kSilent:
        return tunnel_error(ErrorKind::kTimeout, "it did not answer within the time limit of a connection");
      case Interruption::Cause::kBroken:
        break;
    }
    return tunnel_error(ErrorKind::kUnavailable, interruption.problem);
  }

  [[nodiscard]] Error tunnel_error(ErrorKind kind, const std::string& how) const {
    return {kind, "connecting to " + server_.host_header + " for " + server_.shown + " through the proxy " +
                      proxy_.url.host_header + " failed: " + how};
  }

  const Proxy& proxy_;
  const Url& server_;
  DirectStream stream_;
  std::stop_callback<std::function<void()>> notify_;
};

}  // namespace

Result<Proxy> parse_proxy(std::string_view text) {
  Proxy proxy;
  const auto scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return invalid_proxy_url_error("has no scheme");
  const std::string_view scheme = text.substr(0, scheme_end);
  std::string_view rest = text.substr(scheme_end + 3);
  if (scheme == "socks5" || scheme == "socks5h")
    proxy.protocol = ProxyProtocol::kSocks5;
  else if (scheme == "https")
    return invalid_proxy_url_error("has the scheme https; Ratoon does not use TLS to a proxy");
  else if (scheme != "http")
    return invalid_proxy_url_error("has an unknown scheme");

  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = rest.substr(0, at);
    const auto colon = std::min(login.find(':'), login.size());
    const auto user = percent_decode(login.substr(0, colon));
    const auto password = percent_decode(login.substr(std::min(colon + 1, login.size())));
    if (!user || !password)
      return invalid_proxy_url_error("has a user or password with a '%' that starts no escape");
    if (user->empty()) return invalid_proxy_url_error("has an '@' without a user in front of it");
    proxy.user = *user;
    proxy.password = *password;
    rest = rest.substr(at + 1);
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  auto url = parse_url("http://" + std::string(rest));
  if (!url) return invalid_proxy_url_error("does not name a host and a port");
  if (url->target != "/") return invalid_proxy_url_error("has a path or a query");
  proxy.url = *std::move(url);
  const bool has_port = proxy.url.host_header.ends_with(":" + std::to_string(proxy.url.port));
  if (proxy.protocol == ProxyProtocol::kSocks5 && !has_port) {
    proxy.url.port = kDefaultSocksPort;
    proxy.url.host_header += ":" + std::to_string(kDefaultSocksPort);
  }
  return proxy;
}

Result<UniqueFd> connect_through(const Proxy& proxy, const Url& server, Duration within,
                                 const std::stop_token& stop, ResolveName resolve) {
  const auto began = SteadyClock::now();
  auto connected = connect_to(proxy.url, within, stop, resolve);
  if (!connected) return connected.error().with_context("the proxy of " + server.shown);
  if (within > Duration::zero())
    within = std::max<Duration>(within - (SteadyClock::now() - began), std::chrono::milliseconds(1));
  return ProxyTunnel(proxy, server, *std::move(connected), within, stop).open();
}

}  // namespace ratoon::http
