#include <openssl/ssl.h>

#include "base/http/server/server_socket.h"
#include "base/http/tls/tls_pem.h"

namespace ratoon::http {
namespace {

// Makes the server require client certificates signed by one of the authorities in `client_ca_pem`.
Result<void> ask_for_certificates(SSL_CTX* context, const std::string& client_ca_pem) {
  constexpr std::string_view kWhat = "the certificate authorities of clients (client_ca_pem)";
  auto authorities = parse_certificates(client_ca_pem, kWhat);
  if (!authorities) return authorities.error();
  auto store = make_trust_store(client_ca_pem, kWhat);
  if (!store) return store.error();
  SSL_CTX_set1_cert_store(context, store->get());
  for (const auto& authority : *authorities) SSL_CTX_add_client_CA(context, authority.get());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

}  // namespace

Result<std::shared_ptr<boost::asio::ssl::context>> make_server_context(const TlsServerOptions& options) {
  auto identity = parse_identity(options.certificate_pem, options.private_key_pem, "the server's");
  if (!identity) return identity.error();
  if (identity->chain.empty())
    return Error(ErrorKind::kInvalid, "a TLS server needs a certificate and a private key");

  auto context = std::make_shared<boost::asio::ssl::context>(boost::asio::ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // TLS session resumption is off, so the server checks the client's certificate on every connection, and
  // sends no session tickets after the handshake.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(native, 0);
  if (!set_tls_identity(native, *identity)) {
    return Error(ErrorKind::kInvalid,
                 "OpenSSL refuses the server's certificate or key: " + take_openssl_error());
  }
  if (!options.client_ca_pem.empty()) {
    if (auto asked = ask_for_certificates(native, options.client_ca_pem); !asked) return asked.error();
  }
  return context;
}

}  // namespace ratoon::http
