// The folder base/http/tls/: TLS with OpenSSL. TlsClient: the client's trusted authorities and certificate,
// and the check of the server's name, which replaces cpprestsdk's check.
#pragma once

#include <memory>
#include <string>

#include <ratoon/result.h>

#include "base/http/transport.h"

struct ssl_ctx_st;  // SSL_CTX
struct ssl_st;      // SSL

namespace ratoon::http {

// The server name that a TLS connection expects, and the reason why the server's certificate was refused. A
// TlsPeer must outlive the handshake.
struct TlsPeer {
  std::string expected_name;  // a host name or an IP address
  std::string problem;        // why the certificate was refused; read it only after the exchange has ended
};

class TlsClient {
 public:
  [[nodiscard]] static Result<std::shared_ptr<const TlsClient>> make(const TlsClientOptions& options);
  virtual ~TlsClient() = default;

  // Replaces all TLS defaults of the HTTP library; returns false if OpenSSL refuses a setting.
  [[nodiscard]] virtual bool prepare(ssl_ctx_st* context, TlsPeer* peer) const = 0;
};

// Sends the expected name to the server; an IP address is never sent (RFC 6066).
void send_server_name_indication(ssl_st* connection, const TlsPeer& peer);

// Returns the reason in OpenSSL's packed error code; empty if `code` is not an OpenSSL error.
[[nodiscard]] std::string tls_reason(int code);
[[nodiscard]] bool is_not_tls_error(int code);

}  // namespace ratoon::http
