// The rules that decide whether the operator makes, renews or restores the certificate for members. The
// functions here read no clock and call no server.
//
// An authority is valid for ten years and a certificate for 90 days. Both the authority and the certificate
// are renewed after two thirds of their validity. A pod trusts only the authorities that existed when the pod
// was created. The former authority therefore signs the new one, so that existing pods accept new
// certificates until the former authority expires.
//
// The rules work even if a clock is wrong. A new certificate is valid from the time at which its authority
// became valid, and a new authority from the time at which its predecessor became valid. So members accept
// the certificate even if the operator's clock is ahead of theirs. A certificate that is not valid yet by the
// operator's clock is kept, because this clock may be the wrong one.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/kube/objects/certificate_secret.h"

namespace ratoon::runtime {

constexpr Duration kAuthorityLifetime = std::chrono::hours(24) * 3650;
constexpr Duration kCertificateLifetime = std::chrono::hours(24) * 90;
constexpr int kRenewalFraction = 3;  // a renewal happens when a third of the lifetime is left

enum class CertificateAction {
  kKeep,
  kRestore,         // write the parts that this operator holds
  kIssue,           // a new certificate of the same authority
  kAddAuthority,    // the authority's key is missing: keep the certificate, and let pods trust a second
                    // authority
  kRenewAuthority,  // a new authority, signed by the former one, and a certificate of it
  kMakeAll,         // a new authority that no running member knows
};

struct CertificatePlan {
  CertificateAction move = CertificateAction::kKeep;
  std::string why{};
  bool is_repair = false;  // a part of the Secret was missing or damaged
};

// `found`: the content of the Secret, or nothing if there is no Secret. `held`: the certificate that this
// operator last served, if it has served one. `name`: the name that members expect in the certificate.
[[nodiscard]] CertificatePlan plan_certificate(const std::optional<kube::CertificateParts>& found,
                                               const std::optional<kube::CertificateParts>& held,
                                               const std::string& name, WallTime now);

// Returns the new content of the Secret, with keys that carry_out_plan() generates.
[[nodiscard]] Result<kube::CertificateParts> carry_out_plan(const CertificatePlan& plan,
                                                            const kube::CertificateParts& found,
                                                            const std::optional<kube::CertificateParts>& held,
                                                            const std::string& name, WallTime now);

}  // namespace ratoon::runtime
