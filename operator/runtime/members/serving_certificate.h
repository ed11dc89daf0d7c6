// ServingCertificate: the certificate with which the operator serves members. Reads tls.crt, tls.key and
// ca.crt in one folder, a mounted Secret that for example cert-manager renews. If the new certificate cannot
// be used (half written, expired, for another name), the previous certificate stays in use.
//
//   ServingCertificate certificate(clock, logger, {.folder = "/etc/ratoon/tls", .name =
//   "coordinator.trees.svc"}); if (auto taken = certificate.take(); !taken) return taken;
//   serve(certificate.identity());
//   ... now and then: if (certificate.has_changed()) serve(certificate.identity());
//
// Thread contract: only one thread at a time may call methods of the object.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/runtime/members/certificate_source.h"

namespace ratoon::runtime {

struct ServingCertificateOptions {
  std::string folder;
  std::string name;  // the name that members expect in it: a host name or an IP address
};

class ServingCertificate final : public CertificateSource {
 public:
  // The clock must outlive this object.
  ServingCertificate(const Clock& clock, Logger log, ServingCertificateOptions options)
      : clock_(clock), log_(std::move(log)), options_(std::move(options)) {}

  // Reads the files. Returns kInvalid if members would refuse the certificate, or if a file is missing.
  [[nodiscard]] Result<void> take() override;
  [[nodiscard]] const ServingIdentity& identity() const override { return identity_; }
  [[nodiscard]] std::optional<WallTime> ends() const override { return expires_at_; }
  // Logs once why a new certificate is refused, and once a day that the current certificate is about to
  // expire.
  [[nodiscard]] bool has_changed() override;

 private:
  [[nodiscard]] Result<ServingIdentity> read() const;
  [[nodiscard]] Result<void> check(const ServingIdentity& identity) const;
  void keep(ServingIdentity identity);
  void warn_of_expiry();

  const Clock& clock_;
  const Logger log_;
  const ServingCertificateOptions options_;
  ServingIdentity identity_;
  std::optional<Timestamp> next_check_;
  std::string problem_;  // of the last check; empty: none
  std::optional<WallTime> expires_at_;
  WallTime next_expiry_warning_at_;
};

}  // namespace ratoon::runtime
