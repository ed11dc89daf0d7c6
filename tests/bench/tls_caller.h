// A caller's end of one connection over TLS that stays open; blocking, for load. The caller accepts every
// certificate, because the cost for the caller is not measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "tests/conformance/support/raw_socket.h"

namespace ratoon::bench {

class TlsCaller {
 public:
  static TlsCaller connect_to(std::uint16_t port) {
    TlsCaller caller(http::testing::RawSocket::connect_to(port));
    SSL_set_fd(caller.tls_.get(), caller.socket_.fd());
    if (SSL_connect(caller.tls_.get()) != 1) caller.tls_.reset();
    return caller;
  }
  bool send(std::string_view bytes) {
    return tls_ && SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  // Reads up to and with `end`; returns less if the connection ends.
  std::string read_until(std::string_view end) {
    std::size_t found = 0;
    while ((found = received_.find(end)) == std::string::npos)
      if (!receive()) return std::exchange(received_, {});
    return take(found + end.size());
  }
  std::string read_exactly(std::size_t size) {
    while (received_.size() < size)
      if (!receive()) return std::exchange(received_, {});
    return take(size);
  }

 private:
  struct Delete {
    void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
    void operator()(SSL* p) const { SSL_free(p); }
  };

  explicit TlsCaller(http::testing::RawSocket socket)
      : socket_(std::move(socket)),
        context_(SSL_CTX_new(TLS_client_method())),
        tls_(SSL_new(context_.get())) {}

  bool receive() {
    char buffer[4096];
    const int size = tls_ ? SSL_read(tls_.get(), buffer, sizeof buffer) : 0;
    if (size > 0) received_.append(buffer, static_cast<std::size_t>(size));
    return size > 0;
  }
  std::string take(std::size_t size) {
    std::string taken = received_.substr(0, size);
    received_.erase(0, size);
    return taken;
  }

  http::testing::RawSocket socket_;
  std::unique_ptr<SSL_CTX, Delete> context_;
  std::unique_ptr<SSL, Delete> tls_;
  std::string received_;
};

}  // namespace ratoon::bench
