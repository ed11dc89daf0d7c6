// ServingCertificate: the certificate with which the operator serves members, read from tls.crt, tls.key and
// ca.crt in one folder (a mounted Secret), which cert-manager or the chart renews. If the new certificate
// cannot be used (half written, expired, for another name), the previous certificate stays in use.
//
//   ServingCertificate certificate(clock, logger, {.folder = "/etc/ratoon/tls", .name =
//   "coordinator.trees.svc"}); if (auto taken = certificate.take(); !taken) return taken;
//   serve(certificate.identity());
//   ... now and then: if (certificate.has_changed()) serve(certificate.identity());
//
// Thread contract: one thread at a time.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/http/server.h"

namespace ratoon::runtime {

struct ServingIdentity {
  http::TlsServerOptions shown;
  std::string ca_pem;  // members trust only certificates that this CA signed

  // Returns whether both identities were read from the same file contents.
  [[nodiscard]] bool is_same_as(const ServingIdentity& other) const;
};

struct ServingCertificateOptions {
  std::string folder;
  std::string name;  // the name that members expect in it: a host name or an IP address
};

class ServingCertificate {
 public:
  // The clock must outlive this object.
  ServingCertificate(const Clock& clock, Logger log, ServingCertificateOptions options)
      : clock_(clock), log_(std::move(log)), options_(std::move(options)) {}

  // Reads the files. Returns kInvalid if members would refuse the certificate, or if a file is missing.
  [[nodiscard]] Result<void> take();
  // Returns the certificate and key of the last take() or has_changed() that succeeded.
  [[nodiscard]] const ServingIdentity& identity() const { return identity_; }
  // Returns when the certificate expires, or nothing before the first certificate.
  [[nodiscard]] std::optional<WallTime> ends() const { return ends_; }
  // Reads the files again, at most every few seconds, and returns whether there is a new certificate. Logs
  // once why a new certificate is refused, and once a day that the current certificate is about to expire.
  [[nodiscard]] bool has_changed();

 private:
  [[nodiscard]] Result<ServingIdentity> read() const;
  [[nodiscard]] Result<void> check(const ServingIdentity& identity) const;
  void keep(ServingIdentity identity);
  void tell_end();

  const Clock& clock_;
  const Logger log_;
  const ServingCertificateOptions options_;
  ServingIdentity identity_;
  std::optional<Timestamp> next_check_;
  std::string problem_;  // of the last check; empty: none
  std::optional<WallTime> ends_;
  WallTime tell_end_at_;
};

}  // namespace ratoon::runtime
