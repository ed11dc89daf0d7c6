#include "base/http/tls/certificate.h"

#include <ctime>

#include <openssl/asn1.h>
#include <openssl/x509_vfy.h>

#include "base/http/tls/tls_pem.h"

namespace ratoon::http {
namespace {

struct Delete {
  void operator()(X509_STORE_CTX* p) const { X509_STORE_CTX_free(p); }
  void operator()(STACK_OF(X509) * p) const { sk_X509_free(p); }  // does not own the certificates
};
template <class T>
using OwningPtr = std::unique_ptr<T, Delete>;

std::optional<WallTime> read_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return WallTime{std::chrono::seconds(::timegm(&parts))};
}

}  // namespace

std::optional<Validity> certificate_validity(const std::string& pem) {
  const auto chain = parse_certificates(pem, "a certificate");
  if (!chain) return std::nullopt;
  const auto begins = read_time(X509_get0_notBefore(chain->front().get()));
  const auto ends = read_time(X509_get0_notAfter(chain->front().get()));
  if (!begins || !ends) return std::nullopt;
  return Validity{.begins = *begins, .ends = *ends};
}

std::vector<std::string> split_certificates(const std::string& pem) {
  std::vector<std::string> texts;
  const auto certificates = parse_certificates(pem, "certificates");
  if (!certificates) return texts;
  for (const auto& certificate : *certificates) texts.push_back(certificate_text(certificate.get()));
  return texts;
}

bool is_key_of(const std::string& key_pem, const std::string& certificate_pem) {
  if (key_pem.empty() || certificate_pem.empty()) return false;
  return parse_identity(certificate_pem, key_pem, "the").has_value();
}

Result<void> check_certificate(const TlsServerOptions& shown, const std::string& ca_pem,
                               const std::string& name, WallTime now) {
  const auto identity = parse_identity(shown.certificate_pem, shown.private_key_pem, "the server's");
  if (!identity) return identity.error();
  if (identity->chain.empty()) return Error(ErrorKind::kInvalid, "the PEM text has no certificate");
  if (const auto authorities = parse_certificates(ca_pem, "the authorities"); !authorities)
    return authorities.error();
  const auto trusted = make_trust_store(ca_pem, "the authorities");
  if (!trusted) return trusted.error();
  const OwningPtr<STACK_OF(X509)> others(sk_X509_new_null());
  for (const auto& certificate : identity->chain) sk_X509_push(others.get(), certificate.get());
  const OwningPtr<X509_STORE_CTX> verification(X509_STORE_CTX_new());
  X509_STORE_CTX* context = verification.get();
  const auto time = std::chrono::duration_cast<std::chrono::seconds>(now.since_epoch).count();
  if (X509_STORE_CTX_init(context, trusted->get(), identity->chain.front().get(), others.get()) == 1 &&
      X509_STORE_CTX_set_default(context, "ssl_server") == 1 &&
      set_expected_host_name(X509_STORE_CTX_get0_param(context), name)) {
    X509_STORE_CTX_set_time(context, 0, time);
    if (X509_verify_cert(context) == 1) return {};
  }
  const std::string problem = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context));
  static_cast<void>(take_openssl_error());
  return Error(ErrorKind::kInvalid,
               "clients would not accept this certificate for '" + name + "' (" + problem + ")");
}

}  // namespace ratoon::http
