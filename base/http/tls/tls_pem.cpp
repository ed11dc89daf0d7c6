#include "base/http/tls/tls_pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/http/url.h"

namespace ratoon::http {
namespace {

Error invalid_pem_error(std::string_view what, const std::string& problem) {
  return {ErrorKind::kInvalid,
          "reading " + std::string(what) + " failed: " + problem + "; expected PEM text (-----BEGIN ...)"};
}

OpenSslPtr<BIO> open_memory(const std::string& text) {
  return OpenSslPtr<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Without this callback OpenSSL asks the terminal for the password of an encrypted key.
int refuse_password(char*, int, int, void*) {
  return -1;
}

}  // namespace

std::string take_openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown reason";
}

Result<std::vector<OpenSslPtr<X509>>> parse_certificates(const std::string& pem, std::string_view what) {
  std::vector<OpenSslPtr<X509>> certificates;
  const auto memory = open_memory(pem);
  ERR_clear_error();
  while (X509* certificate = PEM_read_bio_X509(memory.get(), nullptr, refuse_password, nullptr)) {
    certificates.emplace_back(certificate);
  }
  // The loop ends normally when no PEM block is left; any other OpenSSL reason means damaged PEM text.
  const bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string problem = take_openssl_error();
  if (!is_at_end || certificates.empty()) return invalid_pem_error(what, problem);
  return certificates;
}

std::string bio_text(BIO* memory) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory, &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string certificate_text(X509* certificate) {
  const OpenSslPtr<BIO> memory(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509(memory.get(), certificate) == 1 ? bio_text(memory.get()) : std::string();
}

Result<OpenSslPtr<EVP_PKEY>> parse_private_key(const std::string& pem, std::string_view what) {
  ERR_clear_error();
  OpenSslPtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(open_memory(pem).get(), nullptr, refuse_password, nullptr));
  if (!key) return invalid_pem_error(what, take_openssl_error());
  return key;
}

Result<OpenSslPtr<X509_STORE>> make_trust_store(const std::string& pem, std::string_view what) {
  OpenSslPtr<X509_STORE> store(X509_STORE_new());
  // Trusts each given authority by itself, as kubectl and curl do: its own issuer need not be given.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  if (pem.empty()) {
    X509_STORE_set_default_paths(store.get());
    ERR_clear_error();
    return store;
  }
  auto certificates = parse_certificates(pem, what);
  if (!certificates) return certificates.error();
  for (const auto& certificate : *certificates) X509_STORE_add_cert(store.get(), certificate.get());
  return store;
}

bool set_expected_host_name(X509_VERIFY_PARAM* expected, const std::string& name) {
  X509_VERIFY_PARAM_set_hostflags(expected,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (is_ip_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) == 1;
  return X509_VERIFY_PARAM_set1_host(expected, name.c_str(), 0) == 1;
}

Result<TlsIdentity> parse_identity(const std::string& certificate_pem, const std::string& key_pem,
                                   std::string_view whose) {
  TlsIdentity identity;
  if (certificate_pem.empty() && key_pem.empty()) return identity;
  auto chain = parse_certificates(certificate_pem, std::string(whose) + " certificate");
  if (!chain) return chain.error();
  auto key = parse_private_key(key_pem, std::string(whose) + " private key");
  if (!key) return key.error();
  identity.chain = std::move(*chain);
  identity.key = std::move(*key);
  if (X509_check_private_key(identity.chain.front().get(), identity.key.get()) != 1) {
    ERR_clear_error();
    return Error(ErrorKind::kInvalid,
                 std::string(whose) + " certificate and private key do not belong together");
  }
  return identity;
}

bool set_tls_identity(SSL_CTX* context, const TlsIdentity& identity) {
  if (identity.chain.empty()) return true;
  if (SSL_CTX_use_certificate(context, identity.chain.front().get()) != 1) return false;
  for (std::size_t i = 1; i < identity.chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, identity.chain[i].get()) != 1) return false;
  }
  return SSL_CTX_use_PrivateKey(context, identity.key.get()) == 1;
}

}  // namespace ratoon::http
