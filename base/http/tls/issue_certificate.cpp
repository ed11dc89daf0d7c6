#include "base/http/tls/issue_certificate.h"

#include <ctime>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/http/tls/tls_pem.h"
#include "base/http/url.h"

namespace ratoon::http {
namespace {

constexpr int kSerialBits = 127;
constexpr const char* kAuthorityKeyUsage = "critical,keyCertSign,cRLSign";

struct Signer {
  OpenSslPtr<X509> certificate;
  OpenSslPtr<EVP_PKEY> key;
};

Error openssl_error(const char* what) {
  return {ErrorKind::kIo, std::string("OpenSSL cannot ") + what + ": " + take_openssl_error()};
}

std::string private_key_pem_text(EVP_PKEY* key) {
  const OpenSslPtr<BIO> memory(BIO_new(BIO_s_mem()));
  const bool is_written =
      PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
  return is_written ? bio_text(memory.get()) : std::string();
}

Result<Signer> read_signer(const KeyedCertificate& authority) {
  auto identity = parse_identity(authority.certificate_pem, authority.key_pem, "the authority's");
  if (!identity) return identity.error();
  if (identity->chain.empty())
    return Error(ErrorKind::kInvalid, "there is no certificate authority to sign with");
  return Signer{.certificate = std::move(identity->chain.front()), .key = std::move(identity->key)};
}

bool set_time(ASN1_TIME* into, WallTime time) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time.since_epoch).count();
  return ASN1_TIME_set(into, static_cast<std::time_t>(whole)) != nullptr;
}

bool set_serial(X509* certificate) {
  BIGNUM* number = BN_new();
  const bool is_set = BN_rand(number, kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
                      BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return is_set;
}

bool begin_certificate(X509* certificate, EVP_PKEY* key, const Validity& validity) {
  return X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
         set_time(X509_getm_notBefore(certificate), validity.begins) &&
         set_time(X509_getm_notAfter(certificate), validity.ends) && X509_set_pubkey(certificate, key) == 1;
}

bool set_common_name(X509* certificate, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.data());
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, bytes,
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool is_added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return is_added;
}

bool add_authority_extensions(X509* certificate, X509* issuer) {
  return add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE") &&
         add_extension(certificate, issuer, NID_key_usage, kAuthorityKeyUsage) &&
         add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
         add_extension(certificate, issuer, NID_authority_key_identifier, "keyid");
}

bool sign_certificate(X509* certificate, X509* issuer, EVP_PKEY* key) {
  return X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

Result<KeyedCertificate> to_pem(X509* certificate, EVP_PKEY* key) {
  KeyedCertificate text{.certificate_pem = certificate_text(certificate),
                        .key_pem = private_key_pem_text(key)};
  if (text.certificate_pem.empty() || text.key_pem.empty()) return openssl_error("write a certificate");
  return text;
}

}  // namespace

Result<KeyedCertificate> make_authority(const std::string& name, const Validity& validity) {
  const OpenSslPtr<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("make a key");
  const OpenSslPtr<X509> certificate(X509_new());
  X509* own = certificate.get();
  if (!begin_certificate(own, key.get(), validity) || !set_common_name(own, name) ||
      !add_authority_extensions(own, own) || !sign_certificate(own, own, key.get()))
    return openssl_error("make an authority");
  return to_pem(own, key.get());
}

Result<KeyedCertificate> issue_certificate(const KeyedCertificate& authority, const std::string& name,
                                           const Validity& validity) {
  const auto signer = read_signer(authority);
  if (!signer) return signer.error();
  const OpenSslPtr<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("make a key");
  const OpenSslPtr<X509> certificate(X509_new());
  X509* own = certificate.get();
  X509* issuer = signer->certificate.get();
  if (!begin_certificate(own, key.get(), validity) || !set_common_name(own, "ratoon coordinator") ||
      !add_extension(own, issuer, NID_subject_alt_name, (is_ip_address(name) ? "IP:" : "DNS:") + name) ||
      !add_extension(own, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(own, issuer, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(own, issuer, NID_ext_key_usage, "serverAuth") ||
      !add_extension(own, issuer, NID_subject_key_identifier, "hash") ||
      !add_extension(own, issuer, NID_authority_key_identifier, "keyid") ||
      !sign_certificate(own, issuer, signer->key.get()))
    return openssl_error("make a certificate");
  return to_pem(own, key.get());
}

Result<std::string> cross_sign(const KeyedCertificate& former, const std::string& next_pem,
                               const Validity& validity) {
  const auto signer = read_signer(former);
  if (!signer) return signer.error();
  const auto next = parse_certificates(next_pem, "the next authority");
  if (!next) return next.error();
  X509* subject = next->front().get();
  const OpenSslPtr<X509> made(X509_new());
  X509* certificate = made.get();
  X509* issuer = signer->certificate.get();
  if (!begin_certificate(certificate, X509_get0_pubkey(subject), validity) ||
      X509_set_subject_name(certificate, X509_get_subject_name(subject)) != 1 ||
      !add_authority_extensions(certificate, issuer) ||
      !sign_certificate(certificate, issuer, signer->key.get()))
    return openssl_error("sign the certificate of the next authority");
  std::string text = certificate_text(certificate);
  if (text.empty()) return openssl_error("write a certificate");
  return text;
}

}  // namespace ratoon::http
