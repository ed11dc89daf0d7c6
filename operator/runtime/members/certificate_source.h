// CertificateSource: the certificate for members, which may be renewed while the operator runs.
//
// Thread contract: one thread at a time may call it.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/http/server.h"

namespace ratoon::runtime {

struct ServingIdentity {
  http::TlsServerOptions shown;
  std::string ca_pem;  // members trust only certificates that these authorities signed

  // Whether both identities (certificate and key) were made from the same PEM texts.
  [[nodiscard]] bool is_same_as(const ServingIdentity& other) const {
    return shown.certificate_pem == other.shown.certificate_pem &&
           shown.private_key_pem == other.shown.private_key_pem && ca_pem == other.ca_pem;
  }
};

class CertificateSource {
 public:
  CertificateSource() = default;
  CertificateSource(const CertificateSource&) = delete;
  CertificateSource& operator=(const CertificateSource&) = delete;
  virtual ~CertificateSource() = default;

  // Reads or makes the first certificate.
  [[nodiscard]] virtual Result<void> take() = 0;
  // Returns the certificate and key that take() or has_changed() accepted last.
  [[nodiscard]] virtual const ServingIdentity& identity() const = 0;
  // Returns when the current certificate expires, or nothing before the first certificate.
  [[nodiscard]] virtual std::optional<WallTime> ends() const = 0;
  // Checks for a new certificate at most every few seconds; returns whether identity() has changed.
  [[nodiscard]] virtual bool has_changed() = 0;
};

}  // namespace ratoon::runtime
