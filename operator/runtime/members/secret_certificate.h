// SecretCertificate: the certificate that the operator makes by itself and keeps in a Secret of its
// namespace. Only the leading operator uses this class, because it writes the Secret. certificate_plan.h has
// the rules for renewal. The Secret outlives the operator, so the next operator reads it. If two operators
// write at the same time, the API server accepts one of the writes, and the refused operator reads again.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/log.h"
#include "operator/kube/objects/certificate_secret.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/members/certificate_plan.h"
#include "operator/runtime/members/certificate_source.h"

namespace ratoon::runtime {

struct SecretCertificateOptions {
  std::string name_space;
  std::string secret;
  std::string name;      // the name that members expect in the certificate: a host name or an IP address
  std::string reporter;  // of events
};

class SecretCertificate final : public CertificateSource {
 public:
  // The client and the clock must outlive this object.
  SecretCertificate(const ApiClient& client, const Clock& clock, Logger log, SecretCertificateOptions options)
      : client_(client), clock_(clock), log_(std::move(log)), options_(std::move(options)) {}

  [[nodiscard]] Result<void> take() override;
  [[nodiscard]] const ServingIdentity& identity() const override { return identity_; }
  [[nodiscard]] std::optional<WallTime> ends() const override { return expires_at_; }
  // If the Secret cannot be read or written, logs the reason once, and the current certificate stays in use.
  [[nodiscard]] bool has_changed() override;

 private:
  [[nodiscard]] Result<void> look();
  [[nodiscard]] Result<nlohmann::json> write(const nlohmann::json& found,
                                             const kube::CertificateParts& next) const;
  void keep(kube::CertificateParts parts);
  void tell(const nlohmann::json& secret, const CertificatePlan& plan) const;

  const ApiClient& client_;
  const Clock& clock_;
  const Logger log_;
  const SecretCertificateOptions options_;
  std::optional<kube::CertificateParts> held_parts_;
  ServingIdentity identity_;
  std::optional<WallTime> expires_at_;
  std::optional<Timestamp> next_check_at_;
  std::string problem_;  // of the last look; empty: none
};

}  // namespace ratoon::runtime
