// The rules of the certificate that the operator makes by itself: whether to make, renew or restore it. The
// functions read no clock and call no server.
//
// An authority lives for ten years and a certificate for 90 days. Both the authority and the certificate are
// renewed after two thirds of their validity. Pods know the authorities of the time at which they were made,
// so a renewed authority comes with a certificate that the former authority signed: members that know only
// the former authority accept the new certificates until the former authority expires.
//
// Clocks may be wrong. The validity of a new certificate begins when that of its authority begins, and an
// authority's when its predecessor's begins: even if the operator's clock is ahead, members do not see a
// certificate that is not valid yet. A certificate that is not valid yet by the operator's clock is kept,
// because this clock may be the wrong one.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/kube/objects/certificate_secret.h"

namespace ratoon::runtime {

constexpr Duration kAuthorityLifetime = std::chrono::hours(24) * 3650;
constexpr Duration kCertificateLifetime = std::chrono::hours(24) * 90;
constexpr int kRenewPart = 3;  // a renewal happens when a third of the lifetime is left

enum class CertificateMove {
  kKeep,
  kRestore,         // write the parts that this operator holds
  kIssue,           // a new certificate of the same authority
  kAddAuthority,    // the authority's key is missing: keep the certificate, and let pods trust a second
                    // authority
  kRenewAuthority,  // a new authority, signed by the former one, and a certificate of it
  kMakeAll,         // a new authority that no running member knows
};

struct CertificatePlan {
  CertificateMove move = CertificateMove::kKeep;
  std::string why{};
  bool is_repair = false;  // a part of the Secret was missing or damaged
};

// `found`: the content of the Secret, or nothing if there is no Secret. `held`: the certificate that this
// operator last served, if it has served one. `name`: the name that members expect in the certificate.
[[nodiscard]] CertificatePlan plan_certificate(const std::optional<kube::CertificateParts>& found,
                                               const std::optional<kube::CertificateParts>& held,
                                               const std::string& name, WallTime now);

// Returns the new content of the Secret, and draws the keys that it needs.
[[nodiscard]] Result<kube::CertificateParts> carry_out(const CertificatePlan& plan,
                                                       const kube::CertificateParts& found,
                                                       const std::optional<kube::CertificateParts>& held,
                                                       const std::string& name, WallTime now);

}  // namespace ratoon::runtime
