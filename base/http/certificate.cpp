#include "base/http/certificate.h"

#include <ctime>

#include <openssl/asn1.h>

#include "base/http/tls_pem.h"

namespace ratoon::http {

std::optional<WallTime> certificate_end(const std::string& pem) {
  const auto chain = parse_certificates(pem, "a certificate");
  if (!chain) return std::nullopt;
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(chain->front().get()), &parts) != 1) return std::nullopt;
  return WallTime{std::chrono::seconds(::timegm(&parts))};
}

}  // namespace ratoon::http
