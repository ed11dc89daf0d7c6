#include "tests/conformance/support/test_certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace ratoon::http::testing {
namespace {

struct Delete {
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(BIO* p) const { BIO_free_all(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Delete>;

constexpr long kHour = 3600;

template <class Write>
std::string to_pem(Write write) {
  const Owned<BIO> memory(BIO_new(BIO_s_mem()));
  write(memory.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string certificate_pem(X509* certificate) {
  return to_pem([&](BIO* out) { PEM_write_bio_X509(out, certificate); });
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Owned<X509> make_certificate(const std::string& name, EVP_PKEY* key, long starts_in, long ends_in) {
  static long serial = 0;
  Owned<X509> certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), starts_in);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), ends_in);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

struct TestAuthority::Parts {
  Owned<EVP_PKEY> key;
  Owned<X509> certificate;
};

TestAuthority::TestAuthority(const std::string& name) : parts_(std::make_unique<Parts>()) {
  parts_->key.reset(EVP_EC_gen("P-256"));
  parts_->certificate = make_certificate(name, parts_->key.get(), -kHour, kHour);
  X509* own = parts_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(own, own, NID_key_usage, "critical,keyCertSign");
  add_extension(own, own, NID_subject_key_identifier, "hash");
  X509_sign(own, parts_->key.get(), EVP_sha256());
  ca_pem_ = certificate_pem(own);
}

TestAuthority::~TestAuthority() = default;

TestIdentity TestAuthority::issue(const IdentityRequest& request) const {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const auto certificate =
      make_certificate(request.common_name, key.get(), request.is_expired ? -2 * kHour : -kHour,
                       request.is_expired ? -kHour : kHour);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(parts_->certificate.get()));
  X509* issuer = parts_->certificate.get();
  if (!request.alternative_names.empty()) {
    add_extension(certificate.get(), issuer, NID_subject_alt_name, request.alternative_names);
  }
  add_extension(certificate.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  X509_sign(certificate.get(), parts_->key.get(), EVP_sha256());
  return {certificate_pem(certificate.get()), to_pem([&](BIO* out) {
            PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace ratoon::http::testing
