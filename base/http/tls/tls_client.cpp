#include "base/http/tls/tls_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/http/tls/tls_pem.h"
#include "base/http/url.h"

namespace ratoon::http {
namespace {

int call_verify_callback(int is_ok, X509_STORE_CTX*) {
  return is_ok;
}

// Replaces the certificate verification of OpenSSL and Boost as a whole. Boost's own check would compare the
// certificate's name with the Host header including its port, and would also accept a name in the subject.
int verify_certificate(X509_STORE_CTX* verification, void* argument) {
  auto* peer = static_cast<TlsPeer*>(argument);
  const bool is_set = set_expected_host_name(X509_STORE_CTX_get0_param(verification), peer->expected_name);
  X509_STORE_CTX_set_verify_cb(verification, call_verify_callback);
  if (is_set && X509_verify_cert(verification) == 1) return 1;
  peer->problem = X509_verify_cert_error_string(X509_STORE_CTX_get_error(verification));
  return 0;
}

class OpenSslClient final : public TlsClient {
 public:
  OpenSslClient(OpenSslPtr<X509_STORE> trusted, TlsIdentity identity)
      : trusted_(std::move(trusted)), identity_(std::move(identity)) {}

  bool prepare(SSL_CTX* context, TlsPeer* peer) const override {
    SSL_CTX_set1_cert_store(context, trusted_.get());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(context, verify_certificate, peer);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           set_tls_identity(context, identity_);
  }

 private:
  OpenSslPtr<X509_STORE> trusted_;
  TlsIdentity identity_;
};

}  // namespace

Result<std::shared_ptr<const TlsClient>> TlsClient::make(const TlsClientOptions& options) {
  auto trusted = make_trust_store(options.ca_pem, "the trusted certificate authorities (ca_pem)");
  if (!trusted) return trusted.error();
  auto identity = parse_identity(options.certificate_pem, options.private_key_pem, "our client");
  if (!identity) return identity.error();
  return std::shared_ptr<const TlsClient>(
      std::make_shared<OpenSslClient>(std::move(*trusted), std::move(*identity)));
}

void send_server_name_indication(SSL* connection, const TlsPeer& peer) {
  if (!is_ip_address(peer.expected_name)) SSL_set_tlsext_host_name(connection, peer.expected_name.c_str());
}

std::string tls_reason(int code) {
  const auto packed = static_cast<unsigned long>(static_cast<unsigned int>(code));
  if (code <= 0 || ERR_GET_LIB(packed) != ERR_LIB_SSL) return {};
  const char* reason = ERR_reason_error_string(packed);
  return reason != nullptr ? reason : "TLS error " + std::to_string(code);
}

bool is_not_tls_error(int code) {
  const auto packed = static_cast<unsigned long>(static_cast<unsigned int>(code));
  if (tls_reason(code).empty()) return false;
  const int reason = ERR_GET_REASON(packed);
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
         reason == SSL_R_PACKET_LENGTH_TOO_LONG;
}

}  // namespace ratoon::http
