// The rules of the certificate that the operator makes by itself: whether to make, renew or restore it. The
// functions read no clock and call no server.
//
// An authority lives for ten years and a certificate for 90 days. Each is renewed after two thirds of this
// time. Pods know the authorities of the time at which they were made, so a renewed authority comes with a
// certificate that the former authority signed: members that know only the former authority accept the new
// certificates until the former authority expires.
//
// Clocks may be wrong. A new certificate begins with its authority, and an authority with its predecessor: a
// clock that is too far ahead makes no certificate that is not valid yet for members. A certificate that has
// not begun by our clock is kept, because our clock may be the wrong one.
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

// `found`: what the Secret has, or nothing if there is none. `held`: what this operator last served, if it
// has served. `name`: the name that members expect.
[[nodiscard]] CertificatePlan plan_certificate(const std::optional<kube::CertificateParts>& found,
                                               const std::optional<kube::CertificateParts>& held,
                                               const std::string& name, WallTime now);

// The new content of the Secret; draws keys.
[[nodiscard]] Result<kube::CertificateParts> carry_out(const CertificatePlan& plan,
                                                       const kube::CertificateParts& found,
                                                       const std::optional<kube::CertificateParts>& held,
                                                       const std::string& name, WallTime now);

}  // namespace ratoon::runtime
