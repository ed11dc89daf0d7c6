// This folder: TLS with OpenSSL. The client's side of TLS: its trusted authorities, its certificate, and the
// check of the server's name, in place of cpprestsdk's.
#pragma once

#include <memory>
#include <string>

#include <ratoon/result.h>

#include "base/http/transport.h"

struct ssl_ctx_st;  // SSL_CTX
struct ssl_st;      // SSL

namespace ratoon::http {

// The expected name of one connection, and the fault that was found. The object must outlive the handshake.
struct TlsPeer {
  std::string expected_name;  // a host name or an IP address
  std::string problem;        // why the certificate was refused; read it only after the exchange has ended
};

class TlsClient {
 public:
  [[nodiscard]] static Result<std::shared_ptr<const TlsClient>> make(const TlsClientOptions& options);
  virtual ~TlsClient() = default;

  // Replaces every default of the library; returns false if OpenSSL refuses.
  [[nodiscard]] virtual bool prepare(ssl_ctx_st* context, TlsPeer* peer) const = 0;
};

// Sends the expected name to the server; an IP address is never sent (RFC 6066).
void announce_name(ssl_st* connection, const TlsPeer& peer);

// The reason in OpenSSL's packed code; empty if `code` is no such code.
[[nodiscard]] std::string tls_reason(int code);
[[nodiscard]] bool says_not_tls(int code);

}  // namespace ratoon::http
