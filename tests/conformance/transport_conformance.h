// What every implementation of HttpTransport must do. A new implementation adds a file that instantiates this
// suite with its factory.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/http/server.h"
#include "base/http/transport.h"
#include "tests/conformance/support/measures.h"
#include "tests/conformance/support/scripted_server.h"
#include "tests/conformance/support/test_certificates.h"

namespace ratoon::http::testing {

struct TransportFactory {
  std::string name;
  std::function<std::unique_ptr<HttpTransport>(TransportOptions)> make;

  friend std::ostream& operator<<(std::ostream& out, const TransportFactory& factory) {
    return out << factory.name;
  }
};

class TransportConformance : public ::testing::TestWithParam<TransportFactory> {
 protected:
  std::unique_ptr<HttpTransport> make(TransportOptions options = {}) const {
    return GetParam().make(std::move(options));
  }

  // A server that lives as long as the test.
  std::string serve(Handler handler, ServerOptions options = {}) {
    const bool is_tls = options.tls.has_value();
    auto server = HttpServer::start(std::move(options), std::move(handler));
    if (!server) ADD_FAILURE() << server.error().message();
    server_ = std::move(*server);
    return (is_tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(server_->port());
  }

  std::unique_ptr<HttpServer> server_;
};

class TlsConformance : public TransportConformance {
 protected:
  // Serves "secret" over TLS and returns the server's port as text.
  std::string serve_tls(const TestIdentity& identity, const std::string& client_ca = {}) {
    serve([](ServerRequest, Responder responder) { responder.send({.body = "secret"}); },
          {.tls = TlsServerOptions{identity.certificate_pem, identity.key_pem, client_ca}});
    return std::to_string(server_->port());
  }
  static TestIdentity local(const TestAuthority& authority) {
    return authority.issue({.alternative_names = "DNS:localhost,IP:127.0.0.1"});
  }

  const TestAuthority authority_;
};

// Calls that are ended by an event that a good run does not have take at most this long.
inline Limits patient() {
  Limits limits;
  limits.total = kPatience;
  limits.silence = kPatience;
  limits.connect = kPatience;
  return limits;
}

// For calls that another event ends, or that do not end.
inline Limits unlimited() {
  Limits limits;
  limits.total = kNever;
  limits.silence = kNever;
  limits.connect = kNever;
  return limits;
}

// Keeps the received bytes; `on_piece` is called for every piece.
class RecordingSink final : public BodySink {
 public:
  explicit RecordingSink(std::function<Result<void>(std::string_view)> on_piece = {})
      : on_piece_(std::move(on_piece)) {}
  Result<void> on_head(const ResponseHead& head) override {
    status = head.status;
    return {};
  }
  Result<void> on_bytes(std::string_view bytes) override {
    body.append(bytes);
    return on_piece_ ? on_piece_(bytes) : Result<void>();
  }

  int status = 0;
  std::string body;

 private:
  std::function<Result<void>(std::string_view)> on_piece_;
};

template <class T>
std::string describe(const Result<T>& result) {
  return result ? "no error" : std::string(name_of(result.error().kind())) + ": " + result.error().message();
}

#define EXPECT_FAILS_WITH(kind_, result_)                          \
  do {                                                             \
    const auto& failed_ = (result_);                               \
    ASSERT_FALSE(failed_.has_value());                             \
    EXPECT_EQ(failed_.error().kind(), kind_) << describe(failed_); \
  } while (false)

}  // namespace ratoon::http::testing
