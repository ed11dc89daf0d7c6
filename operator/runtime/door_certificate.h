// DoorCertificate: what members are shown at the door, as files that somebody renews: tls.crt, tls.key and
// ca.crt of one folder, which is how cert-manager and the chart fill a Secret. What cannot be used (it is
// half written, has ended or is for another name) is never taken: what was read before stays.
//
//   DoorCertificate certificate(clock, logger, {.folder = "/etc/ratoon/tls", .name = "door.trees.svc"});
//   if (auto taken = certificate.take(); !taken) return taken;
//   serve(certificate.identity());
//   ... now and then: if (certificate.has_changed()) serve(certificate.identity());
//
// Thread contract: one thread.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/http/server.h"

namespace ratoon::runtime {

struct DoorIdentity {
  http::TlsServerOptions shown;
  std::string ca_pem;  // members trust whom it names, and nobody else

  // Whether it is made of the same files.
  [[nodiscard]] bool is_same_as(const DoorIdentity& other) const;
};

struct DoorCertificateOptions {
  std::string folder;
  std::string name;  // that members look for in it: a host name or an IP address
};

class DoorCertificate {
 public:
  // The clock outlives it.
  DoorCertificate(const Clock& clock, Logger log, DoorCertificateOptions options)
      : clock_(clock), log_(std::move(log)), options_(std::move(options)) {}

  // Reads what there is. kInvalid: members would refuse it, or something is missing.
  [[nodiscard]] Result<void> take();
  // Of the last take() or has_changed() that succeeded.
  [[nodiscard]] const DoorIdentity& identity() const { return identity_; }
  // When that ends; nothing before there was one.
  [[nodiscard]] std::optional<WallTime> ends() const { return ends_; }
  // Looks again, every few seconds at most. Says once why what is new there is not taken, and once a day that
  // what members are shown is about to end: it should have been renewed long before.
  [[nodiscard]] bool has_changed();

 private:
  [[nodiscard]] Result<DoorIdentity> read() const;
  [[nodiscard]] Result<void> check(const DoorIdentity& identity) const;
  void keep(DoorIdentity identity);
  void tell_end();

  const Clock& clock_;
  const Logger log_;
  const DoorCertificateOptions options_;
  DoorIdentity identity_;
  std::optional<Timestamp> look_at_;
  std::string problem_;  // of the last look; empty: none
  std::optional<WallTime> ends_;
  WallTime tell_end_at_;
};

}  // namespace ratoon::runtime
