// Converts PEM text to OpenSSL's objects. Only the .cpp files of TLS include this header.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <ratoon/result.h>

namespace ratoon::http {

struct OpenSslDelete {
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_STORE* p) const { X509_STORE_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(BIO* p) const { BIO_free_all(p); }
};
template <class T>
using OpenSslPtr = std::unique_ptr<T, OpenSslDelete>;

// Returns all certificates in `pem`, in order; an error if there is none, or if one cannot be read.
[[nodiscard]] Result<std::vector<OpenSslPtr<X509>>> parse_certificates(const std::string& pem,
                                                                       std::string_view what);

// Returns the certificate as PEM text; empty if OpenSSL cannot write it.
[[nodiscard]] std::string certificate_text(X509* certificate);

[[nodiscard]] Result<OpenSslPtr<EVP_PKEY>> parse_private_key(const std::string& pem, std::string_view what);

// Returns an OpenSSL store that trusts the certificates in `pem`; an empty `pem` means the system's CAs.
[[nodiscard]] Result<OpenSslPtr<X509_STORE>> make_trust_store(const std::string& pem, std::string_view what);

// Makes OpenSSL accept only a certificate for `name`, a host name or an IP address. The common name in a
// certificate's subject does not count. Returns false if OpenSSL refuses the name.
[[nodiscard]] bool set_expected_host_name(X509_VERIFY_PARAM* expected, const std::string& name);

// A certificate with its chain and its key.
struct TlsIdentity {
  std::vector<OpenSslPtr<X509>> chain;  // leaf first; empty: no identity
  OpenSslPtr<EVP_PKEY> key;
};
[[nodiscard]] Result<TlsIdentity> parse_identity(const std::string& certificate_pem,
                                                 const std::string& key_pem, std::string_view whose);

[[nodiscard]] bool set_tls_identity(SSL_CTX* context, const TlsIdentity& identity);

// Returns all bytes that were written to an OpenSSL BIO in memory.
[[nodiscard]] std::string bio_text(BIO* memory);

// Returns the last error in OpenSSL's queue and empties the queue.
[[nodiscard]] std::string take_openssl_error();

}  // namespace ratoon::http
